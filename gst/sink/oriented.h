// SPDX-License-Identifier: LGPL-2.1-or-later
// Oriented boxes for formats that have only corners or upright boxes.
#pragma once

#include <array>

#include "gst/metas/framebox.h"

namespace keepbox {

struct Corner {
  float x = 0, y = 0;  // pixels of the frame
};

/// Returns the corners of a box, clockwise; the first is the upper left one at angle 0.
std::array<Corner, 4> corners_of(const FrameBox& box);

/// Returns the smallest upright box around a box; at angle 0 the box itself.
Box enclosing(const FrameBox& box);

}  // namespace keepbox
