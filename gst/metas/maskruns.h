// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the pixels of a frame that a mask covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/formula/mask.h"
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

/// Returns an axis of a mask. @param low, high its area, in frame pixels. @param count its pixels.
/// @param limit pixels of the frame.
MaskSide mask_side(float low, float high, int count, uint32_t limit);

/// A mask enlarged to its area, line by line, by the rules of mask.h.
class MaskRuns {
 public:
  enum class Lines { kRows, kColumns };

  /// @param mask outlives this. @param place in frame pixels; without an area, nothing is covered.
  /// @pre is_mask(mask)
  MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines);

  /// Return the rows or columns of the frame that may have pixels of the object, and the pixels of
  /// a line.
  PixelRun lines() const { return {down_.first, down_.last}; }
  PixelRun reach() const { return {along_.first, along_.last}; }

  /// Returns the object's pixels in one of lines(), ascending and separate; valid until the next
  /// call.
  std::span<const PixelRun> of(int line);

 private:
  /// A change of two adjacent lines of the mask: bit 0 is the pixel of the second one, bit 1 that
  /// of the first one.
  struct Change {
    int at, before, now;
  };
  void find_changes(int above);
  void add(PixelRun run);

  const uint8_t* data_;
  MaskSide down_, along_;
  std::ptrdiff_t down_stride_, along_stride_;  // bytes from one mask pixel to the next
  std::vector<PixelRun> runs_;
  std::vector<Change> changes_;  // of the line `above_` and the next one
  int above_ = -1, first_ = 0;   // and the pixels that these begin with
};

}  // namespace keepbox
