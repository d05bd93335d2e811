// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy and one-pass suppression of up to kRun candidates in one launch, which may be enqueued
// before their number is known. Each block sorts all keys and compares its share of the pairs; the
// last one to finish resolves them and writes out the kept boxes.
#pragma once

#include "kernels/cuda/device/warp.cuh"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

/// Returns the words of scratch space for the overlaps of one_launch_nms().
constexpr size_t one_launch_words(uint32_t count) {
  const uint32_t limit = count < kRun ? count : kRun;
  return size_t{warp_words(limit)} * kRun;
}

struct OneLaunchShared {
  struct Sorted {
    uint64_t keys[kRun];
    uint16_t places[kRun], order[kRun];
    uint32_t bins[kRun];
  };
  union {
    Sorted sorted;
    EmitShared<kNmsThreads> emit;
  };
  uint32_t sums[kNmsWarps];
  ResolveBits<kChunkWords> resolve_bits;
  bool last;
};

/// Candidates by rank.
template <BoxGeometry Geometry>
struct RankOrder {
  const DevicePlan& plan;
  const OneLaunchShared::Sorted& sorted;
  const float4* boxes;

  __device__ uint64_t key(uint32_t rank) const { return sorted.keys[sorted.order[rank]]; }
  __device__ float4 box(uint32_t rank) const { return boxes[sorted.order[rank]]; }
  __device__ float area(uint32_t, const typename Geometry::Shape& shape) const {
    return area_of<Geometry>(plan, shape);
  }
};

__device__ inline void sort_by_rank(const DevicePlan& plan, const uint64_t* keys, uint32_t count,
                                    OneLaunchShared& shared) {
  const Bins<kNmsThreads, kRun> bins{shared.sorted.bins};
  bins.clear();
  for (uint32_t i = threadIdx.x; i < count; i += kNmsThreads) shared.sorted.keys[i] = keys[i];
  __syncthreads();
  put_in_order<kRun>(shared.sorted.keys, count, ByScore<kRun>{plan.best_high, plan.octaves}, bins,
                     shared.sorted.places, shared.sorted.order, shared.sums);
}

/// True if no better candidate, kept or not, overlaps this thread's.
__device__ inline bool is_unsuppressed(const uint32_t* mask, uint32_t rank, uint32_t count) {
  uint32_t bits = 0;
  for (uint32_t w = 0; w <= rank / kWarp && rank < count; ++w)
    bits |= __ldcg(mask + w * kRun + rank);
  return rank < count && bits == 0;
}

/// Resolves the candidates from `first`, one per thread, after those before them.
/// @return true if this thread's candidate is kept.
__device__ inline bool resolve_half(const uint32_t* mask, uint32_t first, uint32_t count,
                                    OneLaunchShared& shared) {
  const uint32_t rank = first + threadIdx.x, word = rank / kWarp;
  const bool there = rank < count;
  uint32_t suppressed = 0;
#pragma unroll 8
  for (uint32_t w = 0; w < first / kWarp; ++w)
    suppressed |= there ? __ldcg(mask + w * kRun + rank) & shared.resolve_bits.kept[w] : 0;
  uint32_t earlier[kChunkWords];
#pragma unroll
  for (uint32_t w = 0; w < kChunkWords; ++w)
    earlier[w] = there && w < warp_id() ? __ldcg(mask + (first / kWarp + w) * kRun + rank) : 0;
  const uint32_t own = there ? __ldcg(mask + word * kRun + rank) : 0;
  __syncthreads();
  return resolve(earlier, own, there && suppressed == 0, shared.resolve_bits);
}

/// Writes out the kept boxes. Called by all threads of one block. @return their number.
template <BoxGeometry Geometry>
__device__ uint32_t write_one_launch(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                                     OneLaunchShared& shared, uint32_t& empty) {
  static_assert(kRun == 2 * kChunk);
  const RankOrder<Geometry> order{plan, shared.sorted, args.candidates.boxes};
  uint64_t keys[2];  // of both halves, as emit() overwrites their order
  float4 boxes[2];
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t rank = half * kChunk + threadIdx.x;
    keys[half] = rank < count ? order.key(rank) : kNoKey;
    boxes[half] = rank < count ? order.box(rank) : float4{};
  }
  uint32_t total = 0;
#pragma unroll 1
  for (uint32_t first = 0; first < count && total < plan.limit(); first += kChunk) {
    const bool kept = plan.rules.method == NmsMethod::kFast
                          ? is_unsuppressed(args.words, first + threadIdx.x, count)
                          : resolve_half(args.words, first, count, shared);
    uint32_t all = 0;
    const uint32_t at = total + sum_before(kept ? 1 : 0, shared.sums, all);
    emit(plan, shared.emit, kept && at < plan.limit(), keys[0], boxes[0], args.out.from(total),
         empty);
    total = min(total + all, plan.limit());
    keys[0] = keys[1];
    boxes[0] = boxes[1];
  }
  return total;
}

template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kNmsThreads, 1)
    one_launch_nms(const __grid_constant__ DevicePlan plan,
                   const __grid_constant__ LargeArgs args) {
  __shared__ OneLaunchShared shared;
  static_assert(sizeof shared <= 48 << 10, "more than every device has");
  const uint32_t found = __ldcg(&args.control->left);
  if (!fits_one_launch(found)) return;
  sort_by_rank(plan, args.candidates.keys, found, shared);
  const uint32_t count = min(found, plan.rules.pre_nms_top_k);
  const RankOrder<Geometry> order{plan, shared.sorted, args.candidates.boxes};
  write_overlaps<Geometry>(plan, order, count, args.words, kRun);
  __syncthreads();
  if (threadIdx.x == 0) shared.last = add_acq_rel(&args.control->arrived, 1) + 1 == gridDim.x;
  __syncthreads();
  if (!shared.last) return;
  uint32_t empty = 0;
  const uint32_t written = write_one_launch<Geometry>(plan, args, count, shared, empty);
  if (threadIdx.x != 0) return;
  args.control->arrived = 0;
  report_done(args, written, empty, State::kOneLaunch);
}

/// Implements Kernels::one_launch.
template <BoxGeometry Geometry>
cudaError_t launch_one_launch_nms(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                                  uint32_t blocks, cudaStream_t stream) {
  constexpr uint32_t kTasksEach = kNmsWarps / 4;  // a warp is faster if others of its block idle
  const uint32_t busy = overlap_tasks(count) / 2 / kTasksEach + 1;  // half of the tasks are empty
  const uint32_t used = busy < blocks ? busy : blocks;
  one_launch_nms<Geometry><<<used, kNmsThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
