// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws boxes and captions onto the planes of a mapped video frame, in place.
#pragma once

#include <gst/video/video.h>

#include <opencv2/core.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/letterbox.h"
#include "core/result.h"
#include "gst/metas/analytics.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/captions.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/letters.h"
#include "gst/overlay/outline.h"
#include "gst/overlay/strokes.h"

namespace keepbox {

/// One box to draw.
struct Mark {
  Box box;          // pixels of the frame; the outline lies inside it
  float angle = 0;  // radians, clockwise about the centre
  float score = 0;  // a number; marks with high ones come first
  Rgb color;
  std::string text;  // ASCII; shown on a tab at the box
  FramePoints points{};
  FrameMask mask{};
};

struct Pen {
  int thickness = 1;        // of outlines, in pixels
  double font_scale = 0.5;  // 1 makes capitals 21 pixels high
  LabelPlacement placement = LabelPlacement::kApart;
  bool outlines = true;            // of boxes
  float keypoint_threshold = 0.5;  // the least score of points that are drawn
};

/// A pen that reads well on frames of this size.
Pen pen_for(Size frame);

/// The formats that can be drawn on, as a list in caps syntax.
#define KEEPBOX_PAINT_FORMATS                                                                \
  "{ RGB, BGR, RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, GRAY8, I420, YV12, NV12, "    \
  "NV21, Y42B, Y444 }"

/// Draws marks; keeps its scratch memory and its letters from frame to frame.
class Painter {
 public:
  /// Draws the marks, the best first: it is on top, and its caption chooses its place first.
  /// Masks lie under all outlines, those under all points, and captions over everything. What lies
  /// outside the frame is not drawn, nor is a mark whose box is not all finite. Alpha becomes
  /// opaque.
  /// @pre the frame is mapped for reading and writing, in one of the formats above.
  Status paint(GstVideoFrame& frame, std::span<const Mark> marks, Pen pen);

  /// Captions of the last frame that found no place.
  size_t left_out() const { return left_out_; }

 private:
  struct Item {
    const Mark* mark;
    Outline outline;
    std::optional<cv::Rect> tab;
  };

  void draw_items(Canvas& canvas, const Pen& pen);

  CaptionPlacer placer_;
  Letters letters_;
  std::vector<Item> items_;
  size_t left_out_ = 0;
  Strokes strokes_;
  PaintScratch scratch_;
};

}  // namespace keepbox
