// SPDX-License-Identifier: LGPL-2.1-or-later
// A mask becomes the coverage of each pixel: full at the object's edge, less within.
#include "gst/overlay/silhouette.h"

#include <algorithm>
#include <cstring>
#include <opencv2/imgproc.hpp>

#include "gst/metas/maskruns.h"

namespace keepbox {
namespace {

constexpr uint8_t kThrough = 255 * 6 / 10;  // of what is under the tint
constexpr int kSoft = 1;                    // pixels that smoothing goes beyond the object
constexpr int kWidest = 16;                 // pixels of an edge, for the time that it takes

/// What is left of an object when its outer pixels are taken away: crosses and squares in turn are
/// nearly a disc, and faster than one.
void erode(const cv::Mat& object, cv::Mat& inner, int pixels) {
  // Isolated, or what was drawn before beside this part of the memory counted.
  constexpr int kBorder = cv::BORDER_CONSTANT | cv::BORDER_ISOLATED;
  static const cv::Mat cross = cv::getStructuringElement(cv::MORPH_CROSS, {3, 3});
  cv::erode(object, inner, cross, {-1, -1}, 1, kBorder);
  for (int i = 1; i < pixels; ++i)
    cv::erode(inner, inner, i % 2 == 1 ? cv::Mat() : cross, {-1, -1}, 1, kBorder);
}

/// All runs of a mask, each row's ended by an empty one.
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
  const cv::Rect at =
      canvas.aligned(cv::Rect(extent.tl() - soft, extent.br() + soft) & bounds);
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
