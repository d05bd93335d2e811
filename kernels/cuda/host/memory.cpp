// SPDX-License-Identifier: LGPL-2.1-or-later
// Allocation and errors of the CUDA runtime.
#include "kernels/cuda/host/memory.h"

#include <string>

namespace keepbox::cuda {

Status check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();  // cleared, so that the next launch does not report it again
  const std::string_view name = std::string_view(call).substr(0, std::string_view(call).find('('));
  return reject(ErrorKind::kNoResource,
                "CUDA failed at " + std::string(name) + ": " + cudaGetErrorString(error),
                error == cudaErrorMemoryAllocation ? "free device memory, or set backend=auto"
                                                   : "set backend=auto to continue without CUDA");
}

Result<DeviceBlob> allocate_device(size_t bytes) {
  void* memory = nullptr;
  KB_TRY_CUDA(cudaMalloc(&memory, bytes));
  return DeviceBlob(static_cast<std::byte*>(memory));
}

Result<HostBlob> allocate_host(size_t bytes) {
  void* memory = nullptr;
  KB_TRY_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
  return HostBlob(static_cast<std::byte*>(memory));
}

Result<Stream> make_stream() {
  int lowest = 0, highest = 0;
  KB_TRY_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cudaStream_t stream = nullptr;
  KB_TRY_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest));
  return Stream(stream);
}

Result<Event> make_event() {
  cudaEvent_t event = nullptr;
  KB_TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
  return Event(event);
}

}  // namespace keepbox::cuda
