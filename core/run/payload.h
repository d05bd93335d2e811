// SPDX-License-Identifier: LGPL-2.1-or-later
// Payloads of kept boxes on the host, and masks in frame pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/formula/mask.h"
#include "core/run/backend.h"

namespace keepbox {

// The payload of an image's kept boxes, as callers read it.

/// The payload of one image, from the output of a runner.
class PayloadStage {
 public:
  /// @param output stays valid until the next run.
  void run(const Plan& plan, uint32_t image, const PayloadOutput& output);

  /// Drops the payload.
  void clear();

  /// Returns the values, plan.payload.count per box. Valid until the next run.
  std::span<const float> values() const { return values_; }
  /// Returns one mask per box, or none at all. Valid until the next run.
  std::span<const Mask> masks() const { return masks_; }

 private:
  std::span<const float> values_;
  std::vector<Mask> masks_;
};

// Rectangles of the masks of kept boxes.

struct Plan;

/// Rectangles of an image's masks, one per box.
struct MaskRects {
  // Rectangles of the masks, in pixels of the prototypes or of the frame; empty ones have neither
  // width nor height.
  std::vector<MaskRect> bits;
  std::vector<MaskRect>
      sums;  // rectangles of the sums, in prototype pixels; empty unless masks are enlarged
  size_t words = 0, sum_count = 0;  // of all masks, and of all sums

  void clear();
};

/// Returns the scale from the model input to the prototypes.
MaskScale mask_scale(const Plan& plan);

/// Computes the rectangles of masks. Masks beyond 2^30 pixels per image, in prototype or frame
/// resolution, are empty. @param detections of an image, on the frame.
void place_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                 MaskRects& out);

/// Return the maps from frame pixels to prototype pixels, per axis.
MaskAxis mask_columns(const Plan& plan, uint32_t image);
MaskAxis mask_rows(const Plan& plan, uint32_t image);

/// Returns a mask. @param place in the rectangles of bits. @param bits of all masks of the image.
Mask placed_mask(const Plan& plan, uint32_t image, const MaskRect& place, const uint32_t* bits);

}  // namespace keepbox
