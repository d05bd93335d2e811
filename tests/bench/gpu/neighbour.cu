// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels that compute for a given time, or copy.
#include "tests/bench/gpu/neighbour.h"

#include <algorithm>

namespace keepbox::test {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads) work(unsigned steps, float* sink) {
  float value = static_cast<float>(threadIdx.x);
  for (unsigned i = 0; i < steps; ++i) value = __fmaf_rn(value, 0.999f, 0.5f);
  // never negative for positive start values: nothing is written
  if (value < 0) *sink = value;
}

__global__ void copy(float4* to, const float4* from, size_t count) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

unsigned attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  KB_CUDA(cudaGetDevice(&device));
  KB_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<unsigned>(value);
}

Launch work_of(unsigned blocks, unsigned steps) {
  return [blocks, steps](cudaStream_t stream) {
    work<<<blocks, kThreads, 0, stream>>>(steps, nullptr);
    KB_CUDA(cudaGetLastError());
  };
}

}  // namespace

Stream::Stream(Priority priority) {
  int least = 0, greatest = 0;
  KB_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  KB_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                       priority == Priority::kLowest ? least : 0));
}

double microseconds_each(unsigned launches, const Stream& stream, const Launch& launch) {
  cudaEvent_t start = nullptr, end = nullptr;
  KB_CUDA(cudaEventCreate(&start));
  KB_CUDA(cudaEventCreate(&end));
  launch(stream.get());
  KB_CUDA(cudaEventRecord(start, stream.get()));
  for (unsigned i = 0; i < launches; ++i) launch(stream.get());
  KB_CUDA(cudaEventRecord(end, stream.get()));
  KB_CUDA(cudaEventSynchronize(end));
  float milliseconds = 0;
  KB_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  KB_CUDA(cudaEventDestroy(start));
  KB_CUDA(cudaEventDestroy(end));
  return 1e3 * double{milliseconds} / launches;
}

unsigned blocks_of_multiprocessor() {
  return attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / kThreads;
}

unsigned multiprocessors() { return attribute(cudaDevAttrMultiProcessorCount); }

Launch make_work(unsigned blocks, unsigned waves, double microseconds) {
  constexpr unsigned kLaunches = 50, kRounds = 5;  // clocks have ramped up by the last round
  const Stream stream;
  double steps = 1000;
  const auto made = [&] { return work_of(blocks * waves, static_cast<unsigned>(steps)); };
  for (unsigned round = 0; round < kRounds; ++round)
    steps =
        std::max(1.0, steps * waves * microseconds / microseconds_each(kLaunches, stream, made()));
  return made();
}

Launch make_copy(const DeviceBuffer& to, const DeviceBuffer& from) {
  const unsigned blocks = blocks_of_multiprocessor() * multiprocessors();
  auto* const target = static_cast<float4*>(to.data());
  const auto* const source = static_cast<const float4*>(from.data());
  const size_t count = from.bytes() / sizeof(float4);
  return [=](cudaStream_t stream) {
    copy<<<blocks, kThreads, 0, stream>>>(target, source, count);
    KB_CUDA(cudaGetLastError());
  };
}

}  // namespace keepbox::test
