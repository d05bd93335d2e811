// SPDX-License-Identifier: LGPL-2.1-or-later
// Select for many candidates: blocks sort runs of them, then each key finds its rank by a search in
// the other runs.
#include "kernels/cuda/device/boxes.cuh"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kNoPlace = ~0u;
using RunBins = Bins<kNmsThreads, kRun>;

/// Moves the class in front of the score; the inverse is score_first().
__device__ uint64_t class_first(uint64_t key) {
  return key << (64 - kClassBits) | key >> kClassBits;
}
__device__ uint64_t score_first(uint64_t key) {
  return key << kClassBits | key >> (64 - kClassBits);
}

/// Bins of keys with the class first: one bin per class.
struct ByClass {
  __device__ uint32_t operator()(uint64_t key) const {
    return static_cast<uint32_t>(key >> (64 - kClassBits));
  }
};
static_assert(kMaxClasses <= RunBins::kCount);

__global__ void __launch_bounds__(kNmsThreads) sort_runs(const __grid_constant__ SortArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ uint32_t sums[kNmsWarps];
  auto* keys = reinterpret_cast<uint64_t*>(memory);
  auto* places = reinterpret_cast<uint32_t*>(keys + kRun);
  auto* order = places + kRun;
  const RunBins bins{order + kRun};
  const uint32_t first = blockIdx.x * kRun, count = min(kRun, args.count - first);
  bins.clear();
  for (uint32_t i = threadIdx.x; i < count; i += kNmsThreads) {
    const uint64_t key = args.from.keys[first + i];
    keys[i] = args.by_class ? class_first(key) : key;
  }
  __syncthreads();
  if (args.by_class) put_in_order<kRun>(keys, count, ByClass(), bins, places, order, sums);
  else
    put_in_order<kRun>(keys, count, ByScore<kRun>{args.best_high, args.octaves}, bins, places,
                       order, sums);
  for (uint32_t i = threadIdx.x; i < kRun; i += kNmsThreads) {
    args.runs[first + i] = i < count ? keys[order[i]] : kNoKey;
    args.run_index[first + i] = i < count ? first + order[i] : kNoPlace;
  }
}

/// Returns the number of smaller keys in a run.
__device__ uint32_t less_in_run(const uint64_t* run, uint64_t key) {
  uint32_t at = 0;
  for (uint32_t step = kRun / 2; step > 0; step /= 2)
    if (__ldg(run + at + step - 1) < key) at += step;
  return at + (__ldg(run + at) < key ? 1 : 0);
}

__global__ void place(const __grid_constant__ SortArgs args, uint32_t runs) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= runs * kRun || args.run_index[at] == kNoPlace) return;
  const uint64_t key = args.runs[at];
  uint32_t rank = at % kRun;
  for (uint32_t run = 0; run < runs; ++run)
    if (run != at / kRun) rank += less_in_run(args.runs + run * kRun, key);
  if (rank >= args.limit) return;
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
  constexpr size_t kShared =
      kRun * (sizeof(uint64_t) + 2 * sizeof(uint32_t)) + RunBins::kCount * sizeof(uint32_t);
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
