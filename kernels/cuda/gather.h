// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that read what kept boxes bring beside their corners.
#pragma once

#include "core/gather.h"
#include "kernels/cuda/device.h"

namespace keepbox::cuda {

/// Of one image's kept boxes. Offsets and data of fields are those of `pieces`.
struct GatherArgs {
  Pieces pieces;
  const Detection* boxes = nullptr;  // may be the host's memory
  uint32_t count = 0, image = 0;
  PointRules points;
  Keypoint* points_out = nullptr;    // host memory: points.count for each
  MaskRules masks;
  Numbers prototypes = Numbers::kAny;
  float* factors = nullptr;          // masks.coefficients for each
  const MaskPlace* places = nullptr;
  uint8_t* inside = nullptr;         // at the places' offsets, or
  float* numbers = nullptr;
};

/// Points of boxes, on the frame.
cudaError_t launch_points(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

/// Mask coefficients, and the masks.
cudaError_t launch_masks(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

}  // namespace keepbox::cuda
