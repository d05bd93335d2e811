// SPDX-License-Identifier: LGPL-2.1-or-later
// Input makers in CUDA memory: copies to the device, runs on a stream, copies back.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "tests/parity/inputs.h"

namespace keepbox::test {
namespace {

struct Freed {
  void operator()(void* memory) const { cudaFree(memory); }
};
using Blob = std::unique_ptr<void, Freed>;

/// @param shift bytes of misalignment.
Blob on_device(std::span<const uint8_t> from, size_t shift) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, from.size() + shift + 1) != cudaSuccess) return nullptr;
  Blob blob(memory);
  auto error = cudaMemcpy(static_cast<uint8_t*>(memory) + shift, from.data(), from.size(),
                          cudaMemcpyHostToDevice);
  // a copy from pageable memory may not be complete yet
  if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
  return error == cudaSuccess ? std::move(blob) : nullptr;
}

}  // namespace

Made make_on_device(const Backend& backend, const InputCase& each, MakerOf maker_of) {
  const auto make = maker_of(backend, each);
  if (!make) return std::unexpected(make.error());
  std::array<Blob, 3> planes;
  FramePlanes frame = each.frame();
  for (size_t p = 0; p < each.plan.frame.planes; ++p) {
    const std::span<const uint8_t> bytes = each.planes[p].bytes();
    const size_t shift = reinterpret_cast<uintptr_t>(bytes.data()) % 16;
    planes[p] = on_device(bytes, shift);
    if (!planes[p]) return std::unexpected("no device memory for a plane");
    frame.data[p] = static_cast<const uint8_t*>(planes[p].get()) + shift;
  }
  const size_t bytes = each.plan.input.bytes();
  std::vector<uint8_t> memory(bytes + 2 * kGuard, kPoison);
  const Blob input = on_device(memory, 0);
  cudaStream_t stream = nullptr;
  if (!input || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
    return std::unexpected("no device memory for the input, or no stream");
  cudaDeviceSynchronize();  // copies from pageable memory may return early
  const Status status = (*make)(frame, static_cast<uint8_t*>(input.get()) + kGuard, stream);
  const cudaError_t error = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  if (!status) return std::unexpected(status.error().message());
  if (error != cudaSuccess) return std::unexpected(cudaGetErrorString(error));
  if (cudaMemcpy(memory.data(), input.get(), memory.size(), cudaMemcpyDeviceToHost) != cudaSuccess)
    return std::unexpected("the input did not come back");
  const auto poisoned = [](uint8_t byte) { return byte == kPoison; };
  if (!std::all_of(memory.begin(), memory.begin() + kGuard, poisoned) ||
      !std::all_of(memory.end() - kGuard, memory.end(), poisoned))
    return std::unexpected("wrote beside the input");
  return std::vector<uint8_t>(memory.begin() + kGuard, memory.end() - kGuard);
}

}  // namespace keepbox::test
