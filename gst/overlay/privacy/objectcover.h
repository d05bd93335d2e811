// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixels of a frame that an object covers by its mask.
#pragma once

#include <opencv2/core.hpp>

#include "gst/metas/framebox.h"
#include "gst/overlay/canvas.h"

namespace keepbox {

/// Sets the object's pixels to 255 in scratch.cover, and others around it to 0.
/// @param margin width in pixels of the area around the object that is included
/// @return the area, aligned and clipped, at the upper left of scratch.cover; empty if the mask is
///         unreadable or has no pixel on the frame.
cv::Rect cover_object(const Canvas& canvas, const FrameMask& mask, int margin,
                      PaintScratch& scratch);

}  // namespace keepbox
