// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints of an object as dots, joined by lines.
#pragma once

#include "gst/metas/analytics.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/strokes.h"

namespace keepbox {

struct SkeletonPen {
  int thickness = 1;      // of lines, in pixels; less where points lie close to each other
  float threshold = 0.5;  // the least score of points that are drawn
};

/// Draws points and lines between them. A line is drawn with both of its ends; points that are not
/// finite are not.
void draw_skeleton(Canvas& canvas, const FramePoints& points, Rgb color, SkeletonPen pen,
                   Strokes& strokes, PaintScratch& scratch);

}  // namespace keepbox
