// SPDX-License-Identifier: LGPL-2.1-or-later
// Which pixels of a frame a mask covers.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gst/metas/analytics.h"

namespace keepbox {

/// The pixels of a mask in memory, as long as it lives.
class MaskPixels {
 public:
  /// Nothing where there is no mask, or none of GRAY8 that can be read.
  static std::optional<MaskPixels> map(const FrameMask& mask);

  MaskPixels(MaskPixels&& other) noexcept;
  MaskPixels& operator=(MaskPixels&&) = delete;
  ~MaskPixels();

  int width() const { return static_cast<int>(meta_->width); }
  int height() const { return static_cast<int>(meta_->height); }
  const uint8_t* data() const { return data_; }
  std::ptrdiff_t stride() const { return stride_; }

 private:
  MaskPixels() = default;

  GstVideoMeta* meta_ = nullptr;
  GstMapInfo map_{};
  const uint8_t* data_ = nullptr;  // nullptr when moved from
  gint stride_ = 0;
};

/// Pixels of a line, from first up to but not including last.
struct PixelRun {
  int first = 0, last = 0;
  friend constexpr bool operator==(const PixelRun&, const PixelRun&) = default;
};

/// A mask enlarged over its place, line by line: between the centres of its pixels the object ends
/// half way, by bilinear interpolation; a pixel of the frame is the object's when its centre is.
class MaskRuns {
 public:
  enum class Lines { kRows, kColumns };

  /// @param pixels outlive this. @param place in pixels of the frame; one without an area covers
  ///        nothing.
  MaskRuns(const MaskPixels& pixels, const Box& place, Size frame, Lines lines);

  /// The rows or columns of the frame that may have pixels of the object, and the pixels of a line.
  PixelRun lines() const { return down_.span; }
  PixelRun reach() const { return along_.span; }

  /// The object's pixels in one of lines(), ascending and apart; valid until the next call.
  std::span<const PixelRun> of(int line);

 private:
  /// One way through frame and mask.
  struct Axis {
    double low = 0, step = 1;  // of the place; pixels of the frame for one of the mask
    int count = 0;             // pixels of the mask
    std::ptrdiff_t stride = 0;
    PixelRun span;             // pixels of the frame whose centres lie in the place

    double at(double center) const { return low + (center + 0.5) * step; }
  };
  static Axis axis_of(float low, float high, int count, std::ptrdiff_t stride, uint32_t limit);
  int crossing(int pixel, double here, double next) const;
  void add(PixelRun run);

  const uint8_t* data_;
  Axis down_, along_;
  std::vector<PixelRun> runs_;
};

}  // namespace keepbox
