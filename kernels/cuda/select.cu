// SPDX-License-Identifier: LGPL-2.1-or-later
// Select for many candidates: blocks sort runs of them, then each key finds its rank by searching
// the other runs.
#include "kernels/cuda/sort.cuh"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kThreads = 1024;

/// The key with the class before the score, and back.
__device__ uint64_t class_first(uint64_t key) { return key << (64 - kClassBits) | key >> kClassBits; }
__device__ uint64_t score_first(uint64_t key) { return key << kClassBits | key >> (64 - kClassBits); }

__global__ void __launch_bounds__(kThreads) sort_runs(const __grid_constant__ SortArgs args) {
  __shared__ uint64_t keys[kRun];
  __shared__ uint32_t index[kRun];
  const uint32_t first = blockIdx.x * kRun;
  for (uint32_t i = threadIdx.x; i < kRun; i += kThreads) {
    const bool inside = first + i < args.count;
    const uint64_t key = inside ? args.from.keys[first + i] : ~uint64_t{0};
    keys[i] = inside && args.by_class ? class_first(key) : key;
    index[i] = first + i;
  }
  block_sort(keys, index, kRun);
  for (uint32_t i = threadIdx.x; i < kRun; i += kThreads) {
    args.runs[first + i] = keys[i];
    args.run_index[first + i] = index[i];
  }
}

/// How many keys of a run are less.
__device__ uint32_t less_in_run(const uint64_t* run, uint64_t key) {
  uint32_t at = 0;
  for (uint32_t step = kRun / 2; step > 0; step /= 2)
    if (__ldg(run + at + step - 1) < key) at += step;
  return at + (__ldg(run + at) < key ? 1 : 0);
}

__global__ void place(const __grid_constant__ SortArgs args, uint32_t runs) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= runs * kRun || args.run_index[at] >= args.count) return;
  const uint64_t key = args.runs[at];
  uint32_t rank = at % kRun;
  for (uint32_t run = 0; run < runs; ++run)
    if (run != at / kRun) rank += less_in_run(args.runs + run * kRun, key);
  if (rank >= args.most) return;
  const uint32_t from = args.run_index[at];
  args.to.keys[rank] = args.by_class ? score_first(key) : key;
  args.to.boxes[rank] = args.from.boxes[from];
  if (args.origin != nullptr) args.origin[rank] = from;
}

}  // namespace

cudaError_t launch_sort(const SortArgs& args, cudaStream_t stream) {
  const uint32_t runs = (args.count + kRun - 1) / kRun;
  if (runs == 0) return cudaSuccess;
  constexpr uint32_t kPlaceThreads = 256;
  sort_runs<<<runs, kThreads, 0, stream>>>(args);
  place<<<runs * (kRun / kPlaceThreads), kPlaceThreads, 0, stream>>>(args, runs);
  return cudaGetLastError();
}

cudaError_t launch_select(const DevicePlan& plan, const SlowArgs& args, cudaStream_t stream) {
  return launch_sort({.from = args.candidates,
                      .count = args.count,
                      .to = args.ordered,
                      .most = plan.top_k,
                      .runs = args.runs,
                      .run_index = args.run_index},
                     stream);
}

}  // namespace keepbox::cuda
