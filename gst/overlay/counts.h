// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines and zones with their counts, as they are drawn.
#pragma once

#include <gst/gst.h>
#include <opencv2/core.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/counts.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/colors.h"

namespace keepbox {

/// A line or a zone to draw.
struct CountMark {
  std::vector<cv::Point2d> points;  // two of a line, corners of a zone, in pixels of the canvas
  bool is_line = false;
  Rgb color;
  std::vector<std::string> caption{};  // the name, and of a zone its occupancy
  // Texts at the arrows to the left and to the right of a line, seen from its first point.
  std::array<std::vector<std::string>, 2> ways{};
  bool crowded = false;
};

/// Returns marks of lines, then of zones, without those that have coordinates that are not finite.
/// @param by enlargement of the frame on the canvas.
std::vector<CountMark> marks_of(const FrameCounts& counts, float by);

/// Returns how long an object has been in the zone in which it is the longest, such as "12 s";
/// empty if it is in none.
std::string dwell_of(const FrameBox& box, const FrameCounts& counts);

// Geometry of marks.

/// Returns the part of a polygon inside of a rectangle. By the even-odd rule it covers the same
/// pixels of it.
std::vector<cv::Point2d> clipped(std::vector<cv::Point2d> corners, const cv::Rect2d& to);

/// The arrows across a line, at the middle of its visible part.
struct Arrows {
  cv::Point2d across;  // of length 1, to the left of the line
  struct Arrow {
    cv::Point2d tail, head;
  };
  std::array<Arrow, 2> ways;        // to the left and to the right
  std::array<cv::Point2d, 2> ends;  // of the visible part
};

/// @param reach length of an arrow on each side of the line. @return nothing of a line that is not
/// visible.
std::optional<Arrows> arrows_of(const CountMark& line, cv::Size frame, double reach);

/// A place of a caption: beyond a point in a direction of length 1.
struct TabPlace {
  cv::Point2d at, way;
};
/// Returns the place of a caption of that size, moved into the frame and cropped to it.
cv::Rect tab_at(const TabPlace& place, cv::Size tab, cv::Size frame);
/// Returns places for the caption of a zone, best first; none of one that is not visible.
std::vector<TabPlace> tab_places(const CountMark& zone, cv::Size frame);

/// Tints a zone lightly.
void fill_zone(Canvas& canvas, const CountMark& zone, PaintScratch& scratch);

}  // namespace keepbox
