// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the pixels of a frame that a mask covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "gst/metas/masks.h"

namespace keepbox {

/// True if the mask's pixels are readable, and in the format of a FrameMask.
inline bool is_mask(const MaskView& mask) {
  return mask && mask.format() == GST_VIDEO_FORMAT_GRAY8;
}

/// Pixels of a line, from first up to but not including last.
struct PixelRun {
  int first = 0, last = 0;
  friend constexpr bool operator==(const PixelRun&, const PixelRun&) = default;
};

/// A mask enlarged to its area, line by line. Between the centres of its pixels the object ends
/// half way, by bilinear interpolation; a frame pixel belongs to the object if its centre does.
class MaskRuns {
 public:
  enum class Lines { kRows, kColumns };

  /// @param mask outlives this. @param place in frame pixels; without an area, nothing is covered.
  /// @pre is_mask(mask)
  MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines);

  /// Return the rows or columns of the frame that may have pixels of the object, and the pixels of
  /// a line.
  PixelRun lines() const { return down_.span; }
  PixelRun reach() const { return along_.span; }

  /// Returns the object's pixels in one of lines(), ascending and separate; valid until the next
  /// call.
  std::span<const PixelRun> of(int line);

 private:
  /// An axis of frame and mask.
  struct Axis {
    double low = 0, step = 1;  // start of the area; frame pixels per mask pixel
    int count = 0;             // mask pixels
    std::ptrdiff_t stride = 0;
    PixelRun span;  // frame pixels whose centres are in the area

    double at(double center) const { return low + (center + 0.5) * step; }
  };
  static Axis axis_of(float low, float high, int count, std::ptrdiff_t stride, uint32_t limit);
  /// A change of two adjacent lines of the mask: bit 0 is the pixel of the second one, bit 1 that
  /// of the first one.
  struct Change {
    int at, before, now;
  };
  void find_changes(int above);
  int crossing(int pixel, double here, double next) const;
  void add(PixelRun run);

  const uint8_t* data_;
  Axis down_, along_;
  std::vector<PixelRun> runs_;
  std::vector<Change> changes_;  // of the line `above_` and the next one
  int above_ = -1, first_ = 0;   // and the pixels that these begin with
};

}  // namespace keepbox
