// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects by their masks.
#pragma once

#include "gst/metas/analytics.h"
#include "gst/overlay/canvas.h"

namespace keepbox {

/// Tints the object's pixels, so that they can be seen through the colour, within an edge that
/// covers. The edge lies inside the object, and not where the frame ends. A mask that cannot be
/// read is not drawn.
/// @param edge its width in pixels, at least 1.
void draw_silhouette(Canvas& canvas, const FrameMask& mask, Rgb color, int edge,
                     PaintScratch& scratch);

}  // namespace keepbox
