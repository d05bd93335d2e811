// SPDX-License-Identifier: LGPL-2.1-or-later
// Operations on frames in device memory: rectangles of one colour, and colours blended by coverage.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace keepbox::cuda {

/// Maximum number of planes of a frame, and of channels of a plane.
inline constexpr size_t kDrawnPlanes = 4, kDrawnChannels = 4;

/// A plane of a frame in device memory.
struct DrawnPlane {
  uint8_t* pixels = nullptr;
  size_t stride = 0;  // bytes
  int width = 0, height = 0;
  int channels = 1;
  int bytes = 1;        // per channel
  int unused_bits = 0;  // the lowest ones of a channel, always 0
};

/// A rectangle of a plane, in its pixels.
struct DrawnRect {
  int x = 0, y = 0, width = 0, height = 0;
};

/// The value of each channel.
struct Paint {
  uint16_t channel[kDrawnChannels];
};

/// Replaces the pixels of a rectangle, or blends a colour.
struct DrawOperation {
  uint32_t plane = 0;
  DrawnRect at;
  Paint paint;
  uint32_t cover = 0;  // offset of the coverage, a byte per pixel in rows without gaps
  bool blends = false;
};

/// Operations on the planes of a frame.
struct DrawJob {
  DrawnPlane planes[kDrawnPlanes];
  uint32_t plane_count = 0, count = 0;
  const DrawOperation* operations = nullptr;  // device memory, as the next one
  const uint8_t* cover = nullptr;
};

/// Executes the operations in their order.
cudaError_t launch_draw(const DrawJob& job, cudaStream_t stream);

}  // namespace keepbox::cuda
