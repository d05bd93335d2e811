// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws boxes and captions onto a video frame, in place.
#pragma once

#include <gst/video/video.h>
#include <opencv2/core.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "gst/metas/boxes.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/counts.h"
#include "gst/overlay/typeface.h"

namespace keepbox {

// Slanted lines and dots with smooth edges.

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

/// A box to draw.
struct Mark {
  Box box;          // pixels of the frame; the outline is drawn inside
  float angle = 0;  // radians, clockwise about the centre
  float score = 0;  // marks with higher scores come first
  Rgb color;
  std::vector<std::string>
      caption{};  // texts that are shown next to each other on a tab at the box
  FrameKeypoints keypoints{};
  FrameMask mask{};
  std::vector<TrailPoint> trail{};  // drawn below all boxes
  bool outlined = true;             // if outlines are drawn at all
};

struct Pen {
  int thickness = 1;        // of outlines, in pixels
  double font_scale = 0.5;  // 1 makes capitals 21 pixels high
  LabelPlacement placement = LabelPlacement::kApart;
  bool outlines = true;            // of boxes
  float keypoint_threshold = 0.5;  // minimum score of drawn keypoints
};

/// Returns a pen that is readable on frames of this size.
Pen pen_for(Size frame);

/// The supported formats, as a list in caps syntax. Values of 16 bits have the byte order of hosts.
#define KEEPBOX_PAINT_FORMATS                                                             \
  "{ RGB, BGR, RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, GRAY8, I420, YV12, NV12, " \
  "NV21, Y42B, Y444, P010_10LE, P012_LE, P016_LE, I420_10LE, I420_12LE, I422_10LE, "      \
  "I422_12LE, Y444_10LE, Y444_12LE, Y444_16LE }"

/// Draws marks; keeps scratch memory and texts between frames.
class Painter {
 public:
  /// Draws the marks, best first: the best is on top, and its caption is placed first. Zones and
  /// lines are below all masks, masks below all trails, trails below all outlines, outlines below
  /// all keypoints, captions on top, those of zones and lines above others. Drawing is clipped to
  /// the frame; marks whose box is not finite are skipped. Alpha becomes opaque.
  /// @pre the frame has one of the formats above.
  /// @return kNoResource on every frame if there is no font, so that captions are missing.
  Status paint(Canvas& canvas, std::span<const Mark> marks, Pen pen,
               std::span<const CountMark> counts = {});

  /// Number of captions of the last frame without a place.
  size_t left_out() const { return left_out_; }

 private:
  /// Texts of a line, and its pixels.
  struct Line {
    size_t first = 0, count = 0;  // among those of the frame
    int width = 0, above = 0, below = 0;
    cv::Rect ink;  // from where the line starts
  };
  struct Item {
    const Mark* mark;
    Outline outline;
    Line line;
    std::optional<cv::Rect> tab;
  };

  /// A caption of a line or a zone.
  struct CountTab {
    cv::Rect at;
    Line line;
    Rgb color;
  };

  Line line_of(std::span<const std::string> caption);
  cv::Size tab_size(const Line& line) const;
  void draw_caption(Canvas& canvas, const cv::Rect& tab, const Line& line, Rgb color);
  void draw_captions(Canvas& canvas);
  void draw_items(Canvas& canvas, const Pen& pen);

  void place_line(const CountMark& line, cv::Size frame, const Pen& pen);
  void place_zone(const CountMark& zone, cv::Size frame);
  void add_tab(std::span<const std::string> caption, Rgb color, cv::Size frame,
               std::span<const TabPlace> places);
  void draw_zones(Canvas& canvas, std::span<const CountMark> counts, const Pen& pen);
  void draw_lines(Canvas& canvas, std::span<const CountMark> counts, const Pen& pen);

  CaptionPlacer placer_;
  Letters letters_;
  bool has_font_ = true;
  std::vector<const Lettering*> texts_;  // of the frame's captions
  std::vector<Item> items_;
  std::vector<CountTab> count_tabs_;
  size_t left_out_ = 0;
  Strokes strokes_;
  PaintScratch scratch_;
};

}  // namespace keepbox
