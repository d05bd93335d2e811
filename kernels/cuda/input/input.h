// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches of the kernels that make a model's input.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/formula/input.h"

namespace keepbox::cuda {

// Interface between the host side of an input maker and its kernel.

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

// Interface between the host side of a crop maker and its kernel.

/// Component of a frame in device memory, as FrameComponent.
struct CropComponent {
  const uint8_t* data = nullptr;  // first sample
  int32_t stride = 0;             // bytes
  uint32_t across = 1, down = 1;  // samples
  uint8_t step = 1, sub_x = 1, sub_y = 1;
  float shift_x = 0.5f, shift_y = 0.5f;
};

/// core's CropPlan for the device, with a frame and a crop.
struct CropArgs {
  CropComponent components[3];
  PixelRules rules;
  CropMap map;
  float frame_width = 0, frame_height = 0;
  uint32_t width = 0, height = 0;                    // of the input
  uint32_t left = 0, top = 0, across = 0, down = 0;  // rectangle of the crop in the input
};

/// Writes a whole input. @param input in device memory.
cudaError_t launch_crop(const CropArgs& args, void* input, cudaStream_t stream);

/// Loads the kernel, which would otherwise happen with the first frame.
cudaError_t load_crop();

}  // namespace keepbox::cuda
