// SPDX-License-Identifier: LGPL-2.1-or-later
// Fills the runs of a mask.
#include "gst/overlay/privacy/objectcover.h"

#include <algorithm>
#include <cstring>

#include "gst/metas/maskruns.h"

namespace keepbox {
namespace {

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

cv::Rect cover_object(const Canvas& canvas, const FrameMask& mask, int margin,
                      PaintScratch& scratch) {
  const MaskView pixels(mask.pixels);
  if (!is_mask(pixels)) return {};
  const cv::Rect bounds = canvas.bounds();
  MaskRuns rows(pixels, mask.place, canvas.size(), MaskRuns::Lines::kRows);
  const cv::Rect extent = runs_of(rows, scratch.runs);
  if (extent.empty()) return {};
  const cv::Point more(margin, margin);
  const cv::Rect at = canvas.aligned(cv::Rect(extent.tl() - more, extent.br() + more) & bounds);
  cv::Mat cover = cleared(scratch.cover, at.size());
  int y = extent.y - at.y;
  for (const PixelRun& run : scratch.runs) {
    const auto count = static_cast<size_t>(run.last - run.first);
    if (count == 0) ++y;
    else std::memset(cover.ptr(y, run.first - at.x), 255, count);
  }
  return at;
}

}  // namespace keepbox
