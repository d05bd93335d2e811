// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws keypoints of an object as dots, joined by lines.
#pragma once

#include "gst/metas/framebox.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/strokes.h"

namespace keepbox {

struct SkeletonPen {
  int thickness = 1;      // of lines, in pixels; less if keypoints are close to each other
  float threshold = 0.5;  // minimum score of drawn keypoints
};

/// Draws keypoints and the lines between them. A line needs both of its ends; keypoints that are
/// not finite are skipped.
void draw_skeleton(Canvas& canvas, const FrameKeypoints& keypoints, Rgb color, SkeletonPen pen,
                   Strokes& strokes, PaintScratch& scratch);

}  // namespace keepbox
