// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that compute keypoints and masks of kept boxes.
#pragma once

#include "core/formula/keypoint.h"
#include "core/formula/mask.h"
#include "kernels/cuda/host/device.h"

namespace keepbox::cuda {

/// Kept boxes of one image. Offsets and data of fields are those of `pieces`.
struct GatherArgs {
  Pieces pieces;
  const Detection* boxes = nullptr;  // may be in host memory
  uint32_t count = 0, image = 0;
  PointRules points;
  Keypoint* points_out = nullptr;  // host memory: points.count per box
  MaskRules masks;
  Numbers prototypes = Numbers::kAny;
  float* factors = nullptr;  // masks.coefficients per box
  const MaskPlace* places = nullptr;
  uint8_t* inside = nullptr;  // at the rectangles' offsets; alternatively:
  float* numbers = nullptr;
};

/// Computes the keypoints of boxes on the frame.
cudaError_t launch_points(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

/// Reads mask coefficients and computes the masks.
cudaError_t launch_masks(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream);

}  // namespace keepbox::cuda
