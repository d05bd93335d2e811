// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixels of a frame's planes, in host or device memory.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <opencv2/core.hpp>
#include <utility>

#include "core/base/result.h"

namespace keepbox {

/// The value of each channel of a plane.
using Paint = cv::Vec4w;

/// Draws on the planes of a frame. Rectangles are in pixels of the plane and inside of it. Throws
/// std::exception if the planes cannot be reached.
class Raster {
 public:
  virtual ~Raster() = default;

  virtual void fill(size_t plane, const cv::Rect& at, const Paint& paint) = 0;

  /// Blends a colour: v + (paint - v) * coverage / 255, rounded to the bits in use.
  /// @param cover 8 bits per pixel, at least as large as the rectangle.
  virtual void blend(size_t plane, const cv::Rect& at, const cv::Mat& cover,
                     const Paint& paint) = 0;

  /// Returns the pixels of a rectangle on the host, which may be changed until put(). Valid until
  /// the next call.
  virtual cv::Mat take(size_t plane, const cv::Rect& at) = 0;
  /// Writes the changed pixels of take() back.
  virtual void put(size_t plane, const cv::Rect& at, const cv::Mat& pixels) = 0;
};

/// Returns kUnsupported for planes of 16 bits at odd addresses or with odd strides.
Status check_alignment(const GstVideoFrame& frame);

/// The planes of a mapped frame in host memory.
class HostRaster final : public Raster {
 public:
  /// @param frame is mapped for reading and writing while this is in use. @pre check_alignment()
  explicit HostRaster(const GstVideoFrame& frame);
  /// @param pixels of the only plane.
  explicit HostRaster(cv::Mat pixels) { planes_[0] = std::move(pixels); }

  void fill(size_t plane, const cv::Rect& at, const Paint& paint) override;
  void blend(size_t plane, const cv::Rect& at, const cv::Mat& cover, const Paint& paint) override;
  cv::Mat take(size_t plane, const cv::Rect& at) override { return planes_[plane](at); }
  void put(size_t, const cv::Rect&, const cv::Mat&) override {}

 private:
  std::array<cv::Mat, GST_VIDEO_MAX_PLANES> planes_;
  std::array<int, GST_VIDEO_MAX_PLANES> unused_bits_{};
};

/// Size of a plane in its pixels, and what a pixel consists of.
struct PlaneForm {
  int width = 0, height = 0, channels = 0;
  int bytes = 1;        // per channel, in the byte order of the host
  int bits = 8;         // in use
  int unused_bits = 0;  // below them, always 0

  /// Returns OpenCV's type of the pixels.
  int type() const { return CV_MAKETYPE(bytes == 1 ? CV_8U : CV_16U, channels); }
};
/// Returns the form of a plane of frames.
PlaneForm plane_form(const GstVideoInfo& info, guint plane);

}  // namespace keepbox
