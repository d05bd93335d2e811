// SPDX-License-Identifier: LGPL-2.1-or-later
// The outline of a box in pixels of a frame.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <optional>

#include "core/formula/box.h"

namespace keepbox {

/// The outline of one box.
struct Outline {
  Box box;          // upper left before lower right, within the range of fixed point
  float angle = 0;  // radians, clockwise about the centre
  cv::Rect extent;  // enclosing pixels; exact for an upright box, at least one

  bool upright() const { return angle == 0; }

  /// Returns the corners of an oriented box, moved inwards; the first edge is the upper one at
  /// angle 0.
  std::array<cv::Point2d, 4> corners(double inset) const;

  /// Returns the four edges of an upright box, inside it.
  std::array<cv::Rect, 4> edges(int thickness) const;
};

/// Returns the outline of a box given by any two corners; std::nullopt if a coordinate is not
/// finite.
std::optional<Outline> outline_of(const Box& box, float angle);

}  // namespace keepbox
