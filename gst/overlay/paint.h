// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws boxes and captions onto the planes of a mapped video frame, in place.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <opencv2/core.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/box.h"
#include "core/letterbox.h"
#include "core/result.h"

namespace keepbox {

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
  friend constexpr bool operator==(Rgb, Rgb) = default;
};

/// The colour of a class: a function of its label's bytes alone, in every run and build.
Rgb class_color(std::string_view label);

/// Black or white, whichever stands out more on the background (contrast of WCAG 2).
Rgb text_color(Rgb background);

/// One box to draw.
struct Mark {
  Box box;           // pixels of the frame; the outline lies inside it
  float angle = 0;   // radians, clockwise about the centre
  Rgb color;
  std::string text;  // ASCII; shown on a tab above the box, or inside it at the frame's top
};

struct Pen {
  int thickness = 1;       // of outlines, in pixels
  double font_scale = 0.5;  // 1 makes capitals 21 pixels high
};

/// A pen that reads well on frames of this size.
Pen pen_for(Size frame);

/// The formats that can be drawn on, as a list in caps syntax.
#define KEEPBOX_PAINT_FORMATS                                                                \
  "{ RGB, BGR, RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, GRAY8, I420, YV12, NV12, "    \
  "NV21, Y42B, Y444 }"

/// Draws marks; keeps its scratch memory from frame to frame.
class Painter {
 public:
  /// Draws the marks, the first on top, and their captions over all boxes. What lies outside the
  /// frame is not drawn, nor is a mark whose numbers are not all finite. Alpha becomes opaque.
  /// @pre the frame is mapped for reading and writing, in one of the formats above.
  Status paint(GstVideoFrame& frame, std::span<const Mark> marks, Pen pen);

 private:
  cv::Mat mask_, coarse_;  // coverage of a caption or a slanted line: at luma's size, at chroma's
};

}  // namespace keepbox
