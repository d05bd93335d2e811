// SPDX-License-Identifier: LGPL-2.1-or-later
// What passes between the host's side of a maker of inputs and its kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/input_pixel.h"

namespace keepbox::cuda {

/// A component of a frame in the device's memory.
struct DeviceComponent {
  const uint8_t* data = nullptr;  // its first sample
  int32_t stride = 0;             // bytes
  uint32_t step = 1;
  const Tap* columns = nullptr;   // one a column of the place
  const Tap* rows = nullptr;      // one a row
};

/// core's InputPlan for the device, and a frame.
struct InputArgs {
  DeviceComponent components[3];
  PixelRules rules;
  uint32_t width = 0, height = 0;                      // of the input
  uint32_t left = 0, top = 0, across = 0, down = 0;  // the place in it
};

/// Writes a whole input. @param input in the device's memory.
cudaError_t launch_input(const InputArgs& args, void* input, cudaStream_t stream);

/// Loads the kernel, which would else happen with the first frame.
cudaError_t load_input();

}  // namespace keepbox::cuda
