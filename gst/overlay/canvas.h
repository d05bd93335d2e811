// SPDX-License-Identifier: LGPL-2.1-or-later
// A video frame to draw on, in any format.
#pragma once

#include <gst/video/video.h>
#include <opencv2/core.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/raster.h"

namespace keepbox {

/// A plane. A channel without a component is padding or alpha.
struct Plane {
  int shift_x = 0, shift_y = 0;                  // log2 of the subsampling
  std::array<int, 4> component{-1, -1, -1, -1};  // per channel: R, G, B or Y, U, V
  PlaneForm form;
};

/// Scratch memory for drawing, kept between frames.
struct PaintScratch {
  cv::Mat cover, coarse, other;  // coverage: luma size, chroma size, luma size
  cv::Mat means, drawn;          // of a plane: a value per block, and enlarged
  std::vector<PixelRun> runs;    // of a mask
};

/// The planes of a frame and the colour coding in them.
class Canvas {
 public:
  /// @param raster the pixels of a frame with that format; outlives the canvas.
  Canvas(const GstVideoInfo& info, Raster& raster);

  cv::Rect bounds() const { return {0, 0, width_, height_}; }
  Size size() const { return {static_cast<uint32_t>(width_), static_cast<uint32_t>(height_)}; }

  /// Grows a rectangle to whole chroma pixels; it may exceed the frame by less than one.
  cv::Rect aligned(const cv::Rect& r) const;

  /// Fills a rectangle, clipped to the frame.
  void fill(cv::Rect rect, Rgb color);

  /// Blends a colour where the mask (8 bits) covers the frame. Subsampled pixels get the mean
  /// coverage of the pixels they represent, times a gain. @pre `at` is aligned, the mask has its
  /// size.
  void blend(const cv::Rect& at, const cv::Mat& mask, cv::Mat& coarse, Rgb color, int gain = 1);

  /// Draws a silhouette if the frame's memory has a way of its own to do so; otherwise returns
  /// false and draws nothing. @param edge width in pixels.
  bool tint(const FrameMask& mask, Rgb color, int edge);

  /// Replaces the pixels that the mask (8 bits) covers by means of square blocks of about that size
  /// in pixels, or smoothly by an interpolation of these. A subsampled pixel is covered if any that
  /// it represents is. @pre as for blend()
  void average(const cv::Rect& at, const cv::Mat& mask, double block, bool smooth,
               PaintScratch& scratch);

 private:
  Paint paint_for(const Plane& plane, Rgb color) const;
  std::span<const Ink> inks_for(const cv::Rect& at, Rgb color);

  Raster& raster_;
  int width_ = 0, height_ = 0;
  int align_x_ = 1, align_y_ = 1;  // luma pixels that share a chroma pixel
  std::vector<Plane> planes_;
  std::array<Ink, GST_VIDEO_MAX_PLANES> inks_;
  bool yuv_ = false;
  double kr_ = 0.299, kb_ = 0.114;  // of the matrix; BT.601 if the caps have none
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offset_{}, scale_{};
};

/// A canvas of a frame in host memory.
class HostCanvas : public Canvas {
 public:
  /// @param frame is mapped for reading and writing while the canvas is in use.
  explicit HostCanvas(const GstVideoFrame& frame) : Canvas(frame.info, pixels_), pixels_(frame) {}

 private:
  HostRaster pixels_;
};

// The outline of a box in pixels of a frame.

/// The outline of one box.
struct Outline {
  Box box;          // upper left before lower right, within the range of fixed point
  float angle = 0;  // radians, clockwise about the centre
  cv::Rect extent;  // enclosing pixels; exact for an upright box, at least one

  bool upright() const { return angle == 0; }

  /// Returns the corners of an oriented box, moved inwards; the first edge is the upper one at
  /// angle 0.
  std::array<cv::Point2d, 4> corners(double inset) const;

  /// Returns the four edges of an upright box, inside it.
  std::array<cv::Rect, 4> edges(int thickness) const;
};

/// Returns the outline of a box given by any two corners; std::nullopt if a coordinate is not
/// finite.
std::optional<Outline> outline_of(const Box& box, float angle);

// A transparent picture above a frame, of which only the parts that were drawn on are attached.

/// Draws on transparent pixels, and attaches the tiles that were drawn on as rectangles. Keeps its
/// memory between frames.
class Layer {
 public:
  /// Side of a tile in pixels. Smaller tiles copy fewer transparent pixels and make more
  /// rectangles, each of which costs a sink a texture.
  static constexpr int kTile = 64;

  /// Draws on a layer of this size, and adds what was drawn to the composition of a frame.
  /// @param by enlargement of the frame on the layer, which covers it.
  Status attach(GstBuffer* buffer, Size frame, float by, const std::function<void(Canvas&)>& act);

 private:
  class Pixels;

  void resize(cv::Size size);
  std::vector<cv::Rect> drawn() const;
  GstBuffer* cut(const cv::Rect& at);
  void add(GstBuffer* buffer, Size frame);

  cv::Mat pixels_;   // BGRA, premultiplied; transparent between frames
  cv::Mat touched_;  // a byte for each tile
};

}  // namespace keepbox
