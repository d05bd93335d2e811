// SPDX-License-Identifier: LGPL-2.1-or-later
// Select for many candidates.
#include "kernels/cuda/large/select.cuh"

namespace keepbox::cuda {
namespace {

__global__ void __launch_bounds__(kNmsThreads) sort_runs(const __grid_constant__ SortArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ uint32_t sums[kNmsWarps];
  sort_run(args, blockIdx.x, *reinterpret_cast<SortShared*>(memory), sums);
}

__global__ void place(const __grid_constant__ SortArgs args, uint32_t runs) {
  place_one(args, runs, blockIdx.x * blockDim.x + threadIdx.x);
}

}  // namespace

cudaError_t launch_sort(const SortArgs& args, cudaStream_t stream) {
  const uint32_t runs = (args.count + kRun - 1) / kRun;
  if (runs == 0) return cudaSuccess;
  constexpr uint32_t kPlaceThreads = 256;
  constexpr size_t kShared = sizeof(SortShared);
  static_assert(kShared <= 48 << 10, "more than every device has");
  sort_runs<<<runs, kNmsThreads, kShared, stream>>>(args);
  place<<<runs*(kRun / kPlaceThreads), kPlaceThreads, 0, stream>>>(args, runs);
  return cudaGetLastError();
}

namespace {

/// Moves candidates within the class limits to the front, up to the overall limit. Runs in one
/// block.
__global__ void __launch_bounds__(kNmsThreads)
    cut(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args) {
  __shared__ uint16_t classes[kNmsThreads];
  __shared__ uint32_t sums[kNmsWarps];
  const uint32_t limit = plan.rules.pre_nms_top_k;
  uint32_t chosen = 0;
  for (uint32_t base = 0; base < args.count && chosen < limit; base += kNmsThreads) {
    const uint32_t i = min(base + threadIdx.x, args.count - 1);
    const uint64_t key = args.ordered.keys[i];
    const float4 box = args.ordered.boxes[i];
    const bool stays = admit(plan.rules.pre_nms_class_top_k, base + threadIdx.x < args.count, key,
                             classes, args.words);
    uint32_t all = 0;
    const uint32_t at = chosen + sum_before(stays ? 1 : 0, sums, all);
    if (stays && at < limit) {  // `at` is no further than what all threads have read by now
      args.ordered.keys[at] = key;
      args.ordered.boxes[at] = box;
    }
    chosen += all;
  }
  if (threadIdx.x != 0) return;
  args.header->chosen = min(chosen, limit);
  signal_host(args.header->sequence, args.sequence);
}

cudaError_t launch_cut(const DevicePlan& plan, const LargeArgs& args, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(args.words, 0, kMaxClasses * sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  cut<<<1, kNmsThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_select(const DevicePlan& plan, const LargeArgs& args, cudaStream_t stream) {
  const bool by_class = plan.rules.pre_nms_class_top_k != 0;
  const cudaError_t error = launch_sort({.best_high = plan.best_high,
                                         .octaves = plan.octaves,
                                         .from = args.candidates,
                                         .count = args.count,
                                         .to = args.ordered,
                                         .limit = by_class ? args.count : plan.rules.pre_nms_top_k,
                                         .runs = args.runs,
                                         .run_index = args.run_index},
                                        stream);
  return error == cudaSuccess && by_class ? launch_cut(plan, args, stream) : error;
}

cudaError_t load_select() { return load_kernels(sort_runs, place, cut); }

}  // namespace keepbox::cuda
