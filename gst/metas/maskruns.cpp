// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds where a line of the frame enters and leaves a mask, in time proportional to the mask's
// pixels.
#include "gst/metas/maskruns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace keepbox {

MaskRuns::Axis MaskRuns::axis_of(float low, float high, int count, std::ptrdiff_t stride,
                                 uint32_t limit) {
  Axis axis{.low = low,
            .step = (double{high} - low) / count,
            .count = count,
            .stride = stride,
            .span = {}};
  if (!std::isfinite(axis.step) || axis.step <= 0) return axis;
  const auto first_from = [&](double edge) {
    return static_cast<int>(std::clamp(std::ceil(edge - 0.5), 0.0, double(limit)));
  };
  axis.span = {first_from(low), first_from(high)};
  return axis;
}

MaskRuns::MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines)
    : data_(mask.row(0)),
      down_(axis_of(place.y1, place.y2, static_cast<int>(mask.height()), mask.row(1) - mask.row(0),
                    frame.height)),
      along_(axis_of(place.x1, place.x2, static_cast<int>(mask.width()), 1, frame.width)) {
  if (lines == Lines::kColumns) std::swap(down_, along_);
  if (along_.span.first >= along_.span.last) down_.span = {};
}

/// Returns the first frame pixel after the edge between two neighbouring pixels of the mask's line.
int MaskRuns::crossing(int pixel, double here, double next) const {
  const double edge = along_.at(pixel + (here - 0.5) / (here - next));
  const double first = std::ceil(edge - 0.5);
  return static_cast<int>(std::clamp(first, double(along_.span.first), double(along_.span.last)));
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
  const uint8_t *first = data_ + above * down_.stride, *second = data_ + below * down_.stride;
  const auto both = [&](int i) {
    const std::ptrdiff_t offset = i * along_.stride;
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
  const double at =
      std::clamp((line + 0.5 - down_.low) / down_.step - 0.5, 0.0, double(down_.count - 1));
  const int above = static_cast<int>(at);
  const double share = at - above;
  find_changes(above);
  const std::array<double, 4> level{0, share, 1 - share, 1};
  runs_.clear();
  bool inside = level[first_] >= 0.5;
  int start = along_.span.first;
  for (const Change& each : changes_) {
    const bool is = level[each.now] >= 0.5;
    if (is == inside) continue;
    inside = is;
    const int edge = crossing(each.at - 1, level[each.before], level[each.now]);
    if (is) start = edge;
    else add({start, edge});
  }
  if (inside) add({start, along_.span.last});
  return runs_;
}

}  // namespace keepbox
