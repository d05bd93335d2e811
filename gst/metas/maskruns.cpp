// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds where a line of the frame enters and leaves a mask, in time proportional to the mask's
// pixels.
#include "gst/metas/maskruns.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace keepbox {

MaskSide mask_side(float low, float high, int count, uint32_t limit) {
  MaskSide side{.low = low, .step = (double{high} - low) / count, .count = count};
  if (!std::isfinite(side.step) || side.step <= 0) return side;
  const auto first_from = [&](double edge) {
    return static_cast<int>(std::clamp(std::ceil(edge - 0.5), 0.0, double(limit)));
  };
  side.first = first_from(low);
  side.last = first_from(high);
  return side;
}

MaskRuns::MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines)
    : data_(mask.row(0)),
      down_(mask_side(place.y1, place.y2, static_cast<int>(mask.height()), frame.height)),
      along_(mask_side(place.x1, place.x2, static_cast<int>(mask.width()), frame.width)),
      down_stride_(mask.row(1) - mask.row(0)),
      along_stride_(1) {
  if (lines == Lines::kColumns) {
    std::swap(down_, along_);
    std::swap(down_stride_, along_stride_);
  }
  if (along_.first >= along_.last) down_.first = down_.last = 0;
}

/// Adds a run. The part of the mask between two runs may be too small for a frame pixel.
void MaskRuns::add(PixelRun run) {
  if (run.first >= run.last) return;
  if (!runs_.empty() && runs_.back().last >= run.first) runs_.back().last = run.last;
  else runs_.push_back(run);
}

/// Compares a line of the mask with the next one, for all lines of the frame between the two.
void MaskRuns::find_changes(int above) {
  if (above == above_) return;
  above_ = above;
  const int below = std::min(above + 1, down_.count - 1);
  const uint8_t *first = data_ + above * down_stride_, *second = data_ + below * down_stride_;
  const auto both = [&](int i) {
    const std::ptrdiff_t offset = i * along_stride_;
    return 2 * (first[offset] != 0) + (second[offset] != 0);
  };
  changes_.clear();
  int before = first_ = both(0);
  for (int i = 1; i < along_.count; ++i)
    if (const int now = both(i); now != before) {
      changes_.push_back({i, before, now});
      before = now;
    }
}

std::span<const PixelRun> MaskRuns::of(int line) {
  const MaskLines lines = lines_at(down_, line);
  find_changes(lines.above);
  runs_.clear();
  bool inside = lines.inside(first_);
  int start = along_.first;
  for (const Change& each : changes_) {
    const bool is = lines.inside(each.now);
    if (is == inside) continue;
    inside = is;
    const int edge = crossing(along_, each.at - 1, lines.level(each.before), lines.level(each.now));
    if (is) start = edge;
    else add({start, edge});
  }
  if (inside) add({start, along_.last});
  return runs_;
}

}  // namespace keepbox
