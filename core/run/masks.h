// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of kept boxes: where they are and how many pixels they have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/formula/mask.h"
#include "core/run/backend.h"

namespace keepbox {

/// Mask of a kept box.
struct Mask {
  const uint8_t* pixels = nullptr;  // rows of `width`: 1 inside the object, otherwise 0
  uint32_t width = 0, height = 0;   // one of them is 0 if there is no mask
  Box place;                        // area covered by the pixels, in frame pixels
};

struct Plan;

/// Computes the rectangles of masks. Masks beyond 2^30 pixels per image, in prototype or frame
/// resolution, are empty. @param detections of an image, on the frame.
/// @return the number of pixels of all masks.
size_t place_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                   std::vector<MaskPlace>& out);

}  // namespace keepbox
