// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies tensors in system memory to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/tensor.h"
#include "core/plan/plan.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

class Staging {
 public:
  /// Allocates pinned and device memory for all tensors of a plan, those of all frames if it is
  /// joint.
  Status allocate(const Plan& plan);

  /// Starts the copy of tensor `index` of the plan on the stream. @param frame of a joint plan.
  /// @return its values on the device; kUnsupported before allocate().
  Result<const std::byte*> upload(const TensorView& tensor, size_t index, uint32_t frame,
                                  cudaStream_t stream);

  /// Releases ownership of memory that was lost with its context.
  void abandon();

 private:
  DeviceBlob device_;
  HostBlob host_;
  std::vector<size_t> offsets_;  // per tensor
};

}  // namespace keepbox::cuda
