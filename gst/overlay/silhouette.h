// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws objects by their masks.
#pragma once

#include "gst/metas/framebox.h"
#include "gst/overlay/canvas.h"

namespace keepbox {

/// Tints the object's pixels translucently, with an opaque edge. The edge is inside the object, and
/// omitted where the frame ends. Unreadable masks are skipped.
/// @param edge width in pixels, at least 1.
void draw_silhouette(Canvas& canvas, const FrameMask& mask, Rgb color, int edge,
                     PaintScratch& scratch);

}  // namespace keepbox
