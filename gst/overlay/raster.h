// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixels of a frame's planes, in host or device memory.
#pragma once

#include <gst/video/video.h>
#include <opencv2/core.hpp>

#include <array>
#include <span>
#include <utility>

#include "core/base/result.h"
#include "core/formula/mask.h"
#include "gst/metas/masks.h"

namespace keepbox {

/// The value of each channel of a plane.
using Paint = cv::Vec4w;

/// A colour on a plane under an area of the frame.
struct Ink {
  cv::Rect at;  // pixels of the plane, inside of it
  Paint paint;
  int shift_x = 0, shift_y = 0;  // log2 of the plane's subsampling
};

/// A mask that is enlarged to the frame.
struct EnlargedMask {
  const MaskView* pixels = nullptr;
  MaskSide across, down;
};

/// Draws on the planes of a frame. Colours are blended as v + (paint - v) * coverage / 255, rounded
/// to the bits in use; a subsampled pixel gets the mean coverage of the pixels it represents.
/// Throws std::exception if the planes cannot be reached.
class Raster {
 public:
  virtual ~Raster() = default;

  /// Replaces pixels. @param at inside the plane.
  virtual void fill(size_t plane, const cv::Rect& at, const Paint& paint) = 0;

  /// Blends a colour on all planes. @param cover 8 bits per pixel of the area, which is aligned to
  /// the pixels of all planes. @param gain of the coverage of subsampled planes, up to 255.
  /// @param coarse scratch memory.
  virtual void blend(const cv::Mat& cover, std::span<const Ink> inks, int gain,
                     cv::Mat& coarse) = 0;

  /// Draws an object with an edge of that width in pixels, if the raster computes its coverage
  /// itself; otherwise returns false, and nothing is drawn. @param at the area.
  virtual bool tint(const EnlargedMask&, const cv::Rect& /*at*/, int /*edge*/,
                    std::span<const Ink>) {
    return false;
  }

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
  void blend(const cv::Mat& cover, std::span<const Ink> inks, int gain, cv::Mat& coarse) override;
  cv::Mat take(size_t plane, const cv::Rect& at) override { return planes_[plane](at); }
  void put(size_t, const cv::Rect&, const cv::Mat&) override {}

 private:
  void blend(size_t plane, const cv::Mat& cover, const Ink& ink);

  std::array<cv::Mat, GST_VIDEO_MAX_PLANES> planes_;
  std::array<int, GST_VIDEO_MAX_PLANES> unused_bits_{};
};

/// Returns zeros of that size in the memory of `kept`, which grows as needed.
cv::Mat cleared(cv::Mat& kept, cv::Size size);

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
