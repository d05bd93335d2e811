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

std::span<const PixelRun> MaskRuns::of(int line) {
  const double at =
      std::clamp((line + 0.5 - down_.low) / down_.step - 0.5, 0.0, double(down_.count - 1));
  const int above = static_cast<int>(at), below = std::min(above + 1, down_.count - 1);
  const double share = at - above;
  const uint8_t *first = data_ + above * down_.stride, *second = data_ + below * down_.stride;
  const std::array<double, 4> level{0, share, 1 - share, 1};  // index: which of the two are not 0
  const auto both = [&](int i) {
    const std::ptrdiff_t offset = i * along_.stride;
    return 2 * (first[offset] != 0) + (second[offset] != 0);
  };
  runs_.clear();
  int before = both(0), start = along_.span.first;
  for (int i = 1; i <= along_.count; ++i) {
    const int now = i < along_.count ? both(i) : 0;
    if (now == before && i < along_.count) continue;
    const bool was = level[before] >= 0.5, is = i < along_.count && level[now] >= 0.5;
    if (was != is) {
      const int edge =
          i < along_.count ? crossing(i - 1, level[before], level[now]) : along_.span.last;
      if (is) start = edge;
      else add({start, edge});
    }
    before = now;
  }
  return runs_;
}

}  // namespace keepbox
