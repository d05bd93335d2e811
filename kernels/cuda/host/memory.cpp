// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory on the device and pinned memory on the host.
#include "kernels/cuda/host/memory.h"

#include <cstring>
#include <string>

#include "core/run/workspace.h"

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

Status Staging::allocate(const Plan& plan) {
  const size_t frames = plan.is_joint() ? plan.frames() : 1;
  size_t bytes = 0;
  for (const TensorForm& form : plan.forms) {
    KB_ASSIGN(const size_t count, form.shape.count());
    offsets_.push_back(bytes);
    bytes += (frames * count * size_of(form.type) + Carver::kAlignment - 1) / Carver::kAlignment *
             Carver::kAlignment;
  }
  KB_ASSIGN(device_, allocate_device(bytes + 1));
  KB_ASSIGN(host_, allocate_host(bytes + 1));
  return {};
}

Result<const std::byte*> Staging::upload(const TensorView& tensor, size_t index, uint32_t frame,
                                         cudaStream_t stream) {
  if (host_ == nullptr)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda cannot read these tensors in system memory", "set backend=auto");
  const size_t bytes = *tensor.shape.count() * size_of(tensor.type);
  const size_t offset = offsets_[index] + frame * bytes;
  std::byte* const to = device_.get() + offset;
  std::byte* const pinned = host_.get() + offset;
  if (bytes != 0) std::memcpy(pinned, tensor.data, bytes);
  KB_TRY_CUDA(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, stream));
  return to;
}

void Staging::abandon() {
  (void)device_.release();
  (void)host_.release();
}

}  // namespace keepbox::cuda
