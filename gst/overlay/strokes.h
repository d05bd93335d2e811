// SPDX-License-Identifier: LGPL-2.1-or-later
// Slanted lines and dots with smooth edges.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <vector>

#include "gst/overlay/canvas.h"

namespace keepbox {

/// Lines and dots in one colour, drawn together so that no pixel is blended twice. Coordinates are
/// as in boxes: integers are the edges of pixels.
class Strokes {
 public:
  /// Starts a new drawing. @param frame bounds the visible part.
  void start(cv::Size frame);

  /// Adds a line, clipped to the frame. @pre finite coordinates, thickness and radius of at least
  /// 1.
  void line(cv::Point2d from, cv::Point2d to, int thickness);
  void dot(cv::Point2d center, double radius);

  void draw(Canvas& canvas, Rgb color, PaintScratch& scratch) const;

 private:
  struct Line {
    cv::Point2l from, to;  // in fixed point
    int thickness;
  };
  struct Dot {
    cv::Point2l center;
    int radius;  // in fixed point
  };
  void touch(cv::Point2l at, int margin);

  cv::Size frame_;
  std::vector<Line> lines_;
  std::vector<Dot> dots_;
  cv::Rect touched_;  // by all of them
};

}  // namespace keepbox
