// SPDX-License-Identifier: LGPL-2.1-or-later
// Device helpers of the GPU benchmark.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/bench/gpu/cuda_check.h"

namespace keepbox::test {

/// Owns device memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : bytes_(bytes) { KB_CUDA(cudaMalloc(&data_, bytes)); }
  DeviceBuffer(const void* from, size_t bytes) : DeviceBuffer(bytes) {
    KB_CUDA(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice));
    // returns once the host memory may be reused, before the copy is complete
    KB_CUDA(cudaDeviceSynchronize());
  }
  DeviceBuffer(DeviceBuffer&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)), bytes_(from.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { KB_CUDA(cudaFree(data_)); }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

/// A word written by the device and read by the host without a copy.
class MappedFlag {
 public:
  MappedFlag();
  MappedFlag(const MappedFlag&) = delete;
  MappedFlag& operator=(const MappedFlag&) = delete;
  ~MappedFlag() { KB_CUDA(cudaFreeHost(host_)); }

  uint32_t* on_device() const { return device_; }
  /// Spins until the device has written the value; aborts after ten seconds.
  void wait_for(uint32_t value) const;

 private:
  uint32_t* host_ = nullptr;
  uint32_t* device_ = nullptr;
};

void launch_empty(cudaStream_t stream);
void launch_flag(uint32_t* flag, uint32_t value, cudaStream_t stream);
/// Reads a whole buffer, which is then in the L2 cache as far as it fits.
/// @param sink four bytes that are never written, so that the reads are not optimised away.
void launch_read(const DeviceBuffer& buffer, const DeviceBuffer& sink, cudaStream_t stream);

}  // namespace keepbox::test
