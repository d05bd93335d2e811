// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks as COCO's compressed run lengths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gst/metas/maskruns.h"

namespace keepbox {

/// Lengths of runs, of pixels without and with the object in turn, as pycocotools has them in text:
/// each but the first three as the difference from the one before the last, in digits of five
/// bits, the lowest first.
class RunLengths {
 public:
  /// The object's next pixels, [first, last). @pre first is not below the last of the call before.
  void add(uint64_t first, uint64_t last);

  /// The text for a picture of so many pixels; the lengths are used up.
  std::string text(uint64_t pixels);

 private:
  std::vector<uint64_t> lengths_;
  uint64_t end_ = 0;  // of what they tell
};

/// The mask in the frame's pixels, column by column. @pre is_mask(mask)
std::string rle_of(const MaskView& mask, const Box& place, Size frame);

/// The mask in its own pixels, column by column. @pre is_mask(mask)
std::string rle_of(const MaskView& mask);

}  // namespace keepbox
