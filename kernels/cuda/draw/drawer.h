// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on frames in device memory.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "kernels/cuda/draw/draw.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

/// Collects operations on a frame and executes them together. Everything is called with the frame's
/// context current. Memory grows as needed and is kept.
class Drawer {
 public:
  /// Starts a frame. @param planes stay valid until flush(). @param stream orders the work.
  Status begin(std::span<const DrawnPlane> planes, cudaStream_t stream);

  /// Replaces the pixels of a rectangle. @pre it is inside the plane.
  Status fill(uint32_t plane, const DrawnRect& at, const Paint& paint);

  /// Blends: v + (paint - v) * coverage / 255, rounded. @pre the rectangle is inside the plane.
  /// @param cover a byte per pixel, copied. @param stride bytes per row.
  Status blend(uint32_t plane, const DrawnRect& at, const Paint& paint, const uint8_t* cover,
               size_t stride);

  /// Copies pixels to the host after all operations so far, and waits for them.
  Status read(uint32_t plane, const DrawnRect& at, uint8_t* pixels, size_t stride);
  /// Copies pixels from the host, which may be changed afterwards.
  Status write(uint32_t plane, const DrawnRect& at, const uint8_t* pixels, size_t stride);

  /// Starts the operations that were collected. Does not wait for them.
  Status flush();

 private:
  Status prepare();
  Status start();
  Status reserve(size_t operations, size_t bytes);

  DrawJob job_;
  cudaStream_t stream_ = nullptr;
  Event uploaded_;        // after the last upload
  bool waiting_ = false;  // that upload may still read the host memory
  Event drawn_;           // after the last drawing, which reads the memory of the device
  bool drawing_ = false;  // a drawing was started
  HostBlob operations_, cover_;
  DeviceBlob device_operations_, device_cover_;
  size_t operation_capacity_ = 0, cover_capacity_ = 0, cover_bytes_ = 0;
  size_t device_operation_capacity_ = 0, device_cover_capacity_ = 0;
};

}  // namespace keepbox::cuda
