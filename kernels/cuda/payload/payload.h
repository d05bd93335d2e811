// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that compute the payload of kept boxes.
#pragma once

#include "core/formula/mask.h"
#include "core/formula/payload.h"
#include "kernels/cuda/host/device.h"

namespace keepbox::cuda {

/// Kept boxes of one image. Offsets and data of fields are those of `pieces`.
struct GatherArgs {
  Pieces pieces;
  const Detection* boxes = nullptr;  // may be in host memory
  uint32_t count = 0, image = 0;
  Moves moves = Moves::kFixed;
  uint32_t each = 0;        // values per box
  float* values = nullptr;  // host memory; of masks, memory of the device
  PointRules points;
  MaskRules masks;
  Numbers prototypes = Numbers::kAny;
  const MaskPlace* places = nullptr;
  uint8_t* inside = nullptr;  // at the rectangles' offsets; alternatively:
  float* numbers = nullptr;
};

/// Reads the values of boxes, and maps keypoints to the frame.
cudaError_t launch_values(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

/// Computes the masks, after launch_values().
cudaError_t launch_masks(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

}  // namespace keepbox::cuda
