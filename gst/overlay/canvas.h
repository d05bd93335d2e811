// SPDX-License-Identifier: LGPL-2.1-or-later
// The planes of a mapped video frame, as something to paint on in any format.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <cstdint>
#include <opencv2/core.hpp>
#include <vector>

#include "gst/metas/maskruns.h"
#include "gst/overlay/colors.h"

namespace keepbox {

/// One plane, without a copy. A channel without a component is padding or alpha.
struct Plane {
  cv::Mat pixels;
  int shift_x = 0, shift_y = 0;                  // log2 of the subsampling
  std::array<int, 4> component{-1, -1, -1, -1};  // per channel: R, G, B or Y, U, V
};

/// Scratch memory of what is painted, kept from frame to frame.
struct PaintScratch {
  cv::Mat cover, coarse, other;  // coverage: at luma's size, at chroma's, and one more of luma's
  std::vector<PixelRun> runs;    // of a mask
};

/// Zeros of that size, which use the memory of `kept` and grow it.
cv::Mat cleared(cv::Mat& kept, cv::Size size);

/// The planes, and how colours are coded in them.
class Canvas {
 public:
  /// @param frame is mapped for reading and writing as long as this is used.
  explicit Canvas(GstVideoFrame& frame);

  cv::Rect bounds() const { return {0, 0, width_, height_}; }

  /// Grows a rectangle to whole chroma pixels; it may leave the frame by less than one.
  cv::Rect aligned(const cv::Rect& r) const;

  /// Paints a rectangle; what of it lies outside the frame is not.
  void fill(cv::Rect rect, Rgb color);

  /// Blends a colour where the mask (8 bits) covers the frame. Subsampled pixels get the mean
  /// coverage of those they stand for, times a gain. @pre `at` is aligned, the mask of its size.
  void blend(const cv::Rect& at, const cv::Mat& mask, cv::Mat& coarse, Rgb color, double gain = 1);

 private:
  cv::Vec4b paint_for(const Plane& plane, Rgb color) const;

  int width_ = 0, height_ = 0;
  int align_x_ = 1, align_y_ = 1;  // luma pixels that share a chroma pixel
  std::vector<Plane> planes_;
  bool yuv_ = false;
  double kr_ = 0.299, kb_ = 0.114;  // of the matrix; BT.601 where the caps name none
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offset_{}, scale_{};
};

}  // namespace keepbox
