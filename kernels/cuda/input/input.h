// SPDX-License-Identifier: LGPL-2.1-or-later
// Interface between the host side of an input maker and its kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/formula/input.h"

namespace keepbox::cuda {

/// Component of a frame in device memory.
struct DeviceComponent {
  const uint8_t* data = nullptr;  // first sample
  int32_t stride = 0;             // bytes
  uint32_t step = 1;
  const Tap* columns = nullptr;  // one per column of the rectangle
  const Tap* rows = nullptr;     // one per row
};

/// core's InputPlan for the device, with a frame.
struct InputArgs {
  DeviceComponent components[3];
  PixelRules rules;
  uint32_t width = 0, height = 0;                    // of the input
  uint32_t left = 0, top = 0, across = 0, down = 0;  // picture's rectangle in the input
};

/// Writes a whole input. @param input in device memory.
cudaError_t launch_input(const InputArgs& args, void* input, cudaStream_t stream);

/// Loads the kernel, which would otherwise happen with the first frame.
cudaError_t load_input();

}  // namespace keepbox::cuda
