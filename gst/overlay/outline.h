// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a box lies among the pixels of a frame.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <optional>

#include "core/box.h"

namespace keepbox {

/// The outline of one box.
struct Outline {
  Box box;          // left above right, in reach of fixed point
  float angle = 0;  // radians, clockwise about the centre
  cv::Rect extent;  // the pixels around it; those of an upright box, at least one

  bool upright() const { return angle == 0; }

  /// The corners of a turned box, moved inwards; the first edge is the upper one at angle 0.
  std::array<cv::Point2d, 4> corners(double inset) const;

  /// The four edges of an upright box, inside it.
  std::array<cv::Rect, 4> edges(int thickness) const;
};

/// The outline of a box given by any two corners; nothing when its numbers are not all finite.
std::optional<Outline> outline_of(const Box& box, float angle);

}  // namespace keepbox
