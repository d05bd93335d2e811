// SPDX-License-Identifier: LGPL-2.1-or-later
// Which pixels of a frame a mask covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/box.h"
#include "core/letterbox.h"
#include "gst/metas/masks.h"

namespace keepbox {

/// Can its pixels be read, and is it a FrameMask's?
inline bool is_mask(const MaskView& mask) {
  return mask && mask.format() == GST_VIDEO_FORMAT_GRAY8;
}

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

  /// @param mask outlives this. @param place in pixels of the frame; one without an area covers
  ///        nothing.
  /// @pre is_mask(mask)
  MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines);

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
