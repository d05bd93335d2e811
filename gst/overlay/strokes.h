// SPDX-License-Identifier: LGPL-2.1-or-later
// Slanted lines and dots, with smooth edges.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <vector>

#include "gst/overlay/canvas.h"

namespace keepbox {

/// Lines and dots in one colour, which are drawn at once, so that no pixel is blended twice where
/// they meet. Points are given as boxes are: a whole number is a pixel's edge.
class Strokes {
 public:
  /// Forgets those of the drawing before. @param frame bounds what will be seen.
  void start(cv::Size frame);

  /// What lies outside the frame is left out. @pre finite numbers, thickness and radius from 1.
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
