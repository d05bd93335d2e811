// SPDX-License-Identifier: LGPL-2.1-or-later
// Select for many candidates: blocks sort runs of them, then each key finds its rank by searching
// the other runs.
#include "kernels/cuda/sort.cuh"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kThreads = 1024;

__global__ void __launch_bounds__(kThreads) sort_runs(const __grid_constant__ SlowArgs args) {
  __shared__ uint64_t keys[kRun];
  __shared__ uint32_t index[kRun];
  const uint32_t first = blockIdx.x * kRun;
  for (uint32_t i = threadIdx.x; i < kRun; i += kThreads) {
    keys[i] = first + i < args.count ? args.candidates.keys[first + i] : ~uint64_t{0};
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

__global__ void place(const __grid_constant__ SlowArgs args, uint32_t runs, uint32_t top_k) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= runs * kRun || args.run_index[at] >= args.count) return;
  const uint64_t key = args.runs[at];
  uint32_t rank = at % kRun;
  for (uint32_t run = 0; run < runs; ++run)
    if (run != at / kRun) rank += less_in_run(args.runs + run * kRun, key);
  if (rank >= top_k) return;
  args.ordered.keys[rank] = key;
  args.ordered.boxes[rank] = args.candidates.boxes[args.run_index[at]];
}

}  // namespace

cudaError_t launch_select(const DevicePlan& plan, const SlowArgs& args, cudaStream_t stream) {
  const uint32_t runs = (args.count + kRun - 1) / kRun;
  if (runs == 0) return cudaSuccess;
  constexpr uint32_t kPlaceThreads = 256;
  sort_runs<<<runs, kThreads, 0, stream>>>(args);
  place<<<runs * (kRun / kPlaceThreads), kPlaceThreads, 0, stream>>>(args, runs, plan.top_k);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
