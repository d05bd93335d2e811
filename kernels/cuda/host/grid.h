// SPDX-License-Identifier: LGPL-2.1-or-later
// Distribution of the work of a frame over the blocks of the frame kernel.
#pragma once

#include "core/base/result.h"
#include "kernels/cuda/device/launches.h"

namespace keepbox::cuda {

struct FrameGrid {
  dim3 blocks;
  uint32_t slices = 1;      // warps that share the classes of an anchor
  uint32_t processors = 0;  // multiprocessors of the device
};

/// Returns the grid on the current device: few blocks per multiprocessor for one image, and none
/// without work.
Result<FrameGrid> choose_grid(const DevicePlan& plan, uint32_t images);

}  // namespace keepbox::cuda
