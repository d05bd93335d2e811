// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels that do nothing, set a flag, or read memory.
#include "tests/bench/gpu/device.h"

#include <cuda_runtime.h>

#include <chrono>

namespace keepbox::test {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 132 * 8;  // fills an H200

__global__ void empty() {}

__global__ void raise(uint32_t* flag, uint32_t value) {
  *static_cast<volatile uint32_t*>(flag) = value;
  __threadfence_system();
}

__global__ void read(const float4* data, size_t count, float* sink) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  float sum = 0;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const float4 four = data[i];
    sum += (four.x + four.y) + (four.z + four.w);
  }
  // no sum of scores and pixels has this value
  if (sum == -1.5e30f) *sink = sum;
}

}  // namespace

MappedFlag::MappedFlag() {
  void* memory = nullptr;
  KB_CUDA(cudaHostAlloc(&memory, sizeof *host_, cudaHostAllocMapped));
  host_ = static_cast<uint32_t*>(memory);
  *host_ = 0;
  KB_CUDA(cudaHostGetDevicePointer(&memory, host_, 0));
  device_ = static_cast<uint32_t*>(memory);
}

void MappedFlag::wait_for(uint32_t value) const {
  constexpr unsigned kLookAtClock = 1u << 16;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (unsigned spins = 1; *static_cast<volatile uint32_t*>(host_) != value; ++spins)
    if (spins % kLookAtClock == 0 && std::chrono::steady_clock::now() > limit)
      require(cudaErrorLaunchTimeout, "a flag that the device raises");
}

void launch_empty(cudaStream_t stream) {
  empty<<<1, 32, 0, stream>>>();
  KB_CUDA(cudaGetLastError());
}

void launch_flag(uint32_t* flag, uint32_t value, cudaStream_t stream) {
  raise<<<1, 1, 0, stream>>>(flag, value);
  KB_CUDA(cudaGetLastError());
}

void launch_read(const DeviceBuffer& buffer, const DeviceBuffer& sink, cudaStream_t stream) {
  read<<<kBlocks, kThreads, 0, stream>>>(static_cast<const float4*>(buffer.data()),
                                         buffer.bytes() / sizeof(float4),
                                         static_cast<float*>(sink.data()));
  KB_CUDA(cudaGetLastError());
}

}  // namespace keepbox::test
