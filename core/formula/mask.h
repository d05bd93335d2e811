// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks: their rules and where they are computed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Maximum number of pixels of a prototype.
inline constexpr size_t kMaxMaskPixels = size_t{1} << 22;

/// Rules to compute masks.
struct MaskRules {
  Size maps;                  // size of the prototypes, pixels
  uint32_t coefficients = 0;  // per box, and number of prototypes; 0: no masks
  bool enlarged = false;      // to frame resolution; otherwise prototype resolution
};

/// Rectangle of a box's mask in the prototypes, pixels.
struct MaskPlace {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint32_t offset = 0;  // of its first pixel from the first pixel of all masks

  KB_HD uint32_t count() const { return width * height; }
};

/// Output buffers for masks, at the offsets of MaskPlace; one of the two is set.
struct MaskOutput {
  uint8_t* inside = nullptr;  // 1 where the sum is positive, otherwise 0
  float* numbers = nullptr;   // sums
};

}  // namespace keepbox
