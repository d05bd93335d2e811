// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks as COCO's compressed run lengths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gst/metas/masks.h"

namespace keepbox {

/// Lengths of runs without and with the object in turn, in pycocotools' text form: each length
/// except the first three is stored as the difference from the one before the last, in digits of
/// five bits, lowest first.
class RunLengths {
 public:
  /// Adds the object's next pixels, [first, last). @pre first is not below the previous last.
  void add(uint64_t first, uint64_t last);

  /// Returns the text for a picture of that many pixels, and clears the lengths.
  std::string text(uint64_t pixels);

 private:
  std::vector<uint64_t> lengths_;
  uint64_t end_ = 0;  // end of the last run
};

/// Encodes the mask in frame pixels, column by column. @pre is_mask(mask)
std::string rle_of(const MaskView& mask, const Box& place, Size frame);

/// Encodes the mask in its own pixels, column by column. @pre is_mask(mask)
std::string rle_of(const MaskView& mask);

}  // namespace keepbox
