// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks of boxes: colour, caption and parts to draw.
#pragma once

#include "gst/metas/framebox.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/paint.h"
#include "gst/overlay/trails.h"

namespace keepbox {

/// Returns the mark of a box, with its colour, its caption and the parts that are to be drawn. The
/// box's points, mask and trail are borrowed.
Mark mark_of(const FrameBox& box, const OverlayProps& props, Colors& colors, const Trails& trails);

/// Returns the mark of the results about the whole frame: a caption in its upper left corner.
/// @param labels at least one.
Mark mark_of(const BoxLabels& labels, const OverlayProps& props);

/// Enlarges a mark for a picture of another size. @param store keeps its points.
void enlarge(Mark& mark, float by, KeypointStore& store);

/// Returns the pen of these properties. @param by enlargement of the picture, whose size is
/// `picture`.
Pen pen_of(const OverlayProps& props, Size picture, double by = 1);

}  // namespace keepbox
