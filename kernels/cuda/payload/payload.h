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
  MaskOutput out;  // at the rectangles' offsets
  // Words to copy to the device before the masks, by the first launch:
  const uint32_t* host_words = nullptr;
  uint32_t* device_words = nullptr;
  uint32_t words = 0;
};

/// Rows of a mask that a warp enlarges.
inline constexpr uint32_t kWarpRows = 32;

/// Masks of one image to enlarge. Pointers are to memory of the device.
struct EnlargeArgs {
  MaskAxis columns, rows;
  const MaskPlace* from = nullptr;  // rectangles of the sums
  const float* sums = nullptr;
  const MaskPlace* places = nullptr;
  const uint32_t* first_part = nullptr;  // per mask, and the number of all: a part is a word wide
                                         // and kWarpRows high
  uint32_t count = 0, parts = 0;
  uint32_t* bits = nullptr;
};

/// Reads the values of boxes, and maps keypoints to the frame.
cudaError_t launch_values(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

/// Computes the masks, after launch_values(), or the sums that launch_enlarge() reads.
cudaError_t launch_masks(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

/// Enlarges masks to the resolution of the frame.
cudaError_t launch_enlarge(const EnlargeArgs& args, cudaStream_t stream);

}  // namespace keepbox::cuda
