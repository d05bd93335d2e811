// SPDX-License-Identifier: LGPL-2.1-or-later
// Rotates corners about the centre.
#include "gst/sink/oriented.h"

#include <algorithm>
#include <cmath>

namespace keepbox {

std::array<Corner, 4> corners_of(const FrameBox& box) {
  const Box& b = box.box;
  if (box.angle == 0) return {{{b.x1, b.y1}, {b.x2, b.y1}, {b.x2, b.y2}, {b.x1, b.y2}}};
  const double cosine = std::cos(double{box.angle}), sine = std::sin(double{box.angle});
  const double x = (double{b.x1} + b.x2) / 2, y = (double{b.y1} + b.y2) / 2;
  const double across = (double{b.x2} - b.x1) / 2, down = (double{b.y2} - b.y1) / 2;
  const auto corner = [&](double dx, double dy) {
    return Corner{float(x + dx * cosine - dy * sine), float(y + dx * sine + dy * cosine)};
  };
  return {corner(-across, -down), corner(across, -down), corner(across, down),
          corner(-across, down)};
}

Box enclosing(const FrameBox& box) {
  if (box.angle == 0) return box.box;
  const auto corners = corners_of(box);
  const auto [left, right] = std::ranges::minmax(corners, {}, &Corner::x);
  const auto [top, bottom] = std::ranges::minmax(corners, {}, &Corner::y);
  return {left.x, top.y, right.x, bottom.y};
}

}  // namespace keepbox
