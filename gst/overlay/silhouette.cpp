// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts a mask to pixel coverage: full at the object's edge, less inside.
#include "gst/overlay/silhouette.h"

#include <algorithm>
#include <cstring>
#include <opencv2/imgproc.hpp>

#include "gst/metas/maskruns.h"

namespace keepbox {
namespace {

constexpr uint8_t kThrough = 255 * 6 / 10;  // opacity of the tint
constexpr int kSoft = 1;                    // pixels by which smoothing exceeds the object
constexpr int kWidest = 16;                 // maximum edge in pixels, to limit the time

/// Removes the outer pixels of an object; alternating crosses and squares are nearly a disc, and
/// faster.
void erode(const cv::Mat& object, cv::Mat& inner, int pixels) {
  // ISOLATED keeps older drawings next to this part of the memory out.
  constexpr int kBorder = cv::BORDER_CONSTANT | cv::BORDER_ISOLATED;
  static const cv::Mat cross = cv::getStructuringElement(cv::MORPH_CROSS, {3, 3});
  cv::erode(object, inner, cross, {-1, -1}, 1, kBorder);
  for (int i = 1; i < pixels; ++i)
    cv::erode(inner, inner, i % 2 == 1 ? cv::Mat() : cross, {-1, -1}, 1, kBorder);
}

/// Collects all runs of a mask; each row is terminated by an empty run.
cv::Rect runs_of(MaskRuns& mask, std::vector<PixelRun>& out) {
  out.clear();
  int left = mask.reach().last, right = mask.reach().first;
  for (int y = mask.lines().first; y < mask.lines().last; ++y) {
    for (const PixelRun& run : mask.of(y)) {
      left = std::min(left, run.first);
      right = std::max(right, run.last);
      out.push_back(run);
    }
    out.push_back({});
  }
  if (left >= right) return {};
  return {cv::Point(left, mask.lines().first), cv::Point(right, mask.lines().last)};
}

}  // namespace

void draw_silhouette(Canvas& canvas, const FrameMask& mask, Rgb color, int edge,
                     PaintScratch& scratch) {
  const MaskView pixels(mask.pixels);
  if (!is_mask(pixels)) return;
  const cv::Rect bounds = canvas.bounds();
  const Size frame{static_cast<uint32_t>(bounds.width), static_cast<uint32_t>(bounds.height)};
  MaskRuns rows(pixels, mask.place, frame, MaskRuns::Lines::kRows);
  const cv::Rect extent = runs_of(rows, scratch.runs);
  if (extent.empty()) return;
  const cv::Point soft(kSoft, kSoft);
  const cv::Rect at = canvas.aligned(cv::Rect(extent.tl() - soft, extent.br() + soft) & bounds);
  cv::Mat cover = cleared(scratch.cover, at.size()), inner = cleared(scratch.other, at.size());
  int y = extent.y - at.y;
  for (const PixelRun& run : scratch.runs) {
    const auto count = static_cast<size_t>(run.last - run.first);
    if (count == 0) ++y;
    else std::memset(cover.ptr(y, run.first - at.x), 255, count);
  }
  erode(cover, inner, std::min(edge, kWidest));
  cv::bitwise_and(inner, cv::Scalar(kThrough), inner);
  cv::subtract(cover, inner, cover);
  if (edge > 1)
    cv::GaussianBlur(cover, cover, {3, 3}, 0, 0, cv::BORDER_REPLICATE | cv::BORDER_ISOLATED);
  canvas.blend(at, cover, scratch.coarse, color);
}

}  // namespace keepbox
