// SPDX-License-Identifier: LGPL-2.1-or-later
// Turned boxes for formats that know corners, or upright boxes alone.
#pragma once

#include <array>

#include "gst/metas/analytics.h"

namespace keepbox {

struct Corner {
  float x = 0, y = 0;  // pixels of the frame
};

/// The corners of a box, clockwise; the first is the upper left one at angle 0.
std::array<Corner, 4> corners_of(const FrameBox& box);

/// The smallest upright box around it: at angle 0 the box itself.
Box enclosing(const FrameBox& box);

}  // namespace keepbox
