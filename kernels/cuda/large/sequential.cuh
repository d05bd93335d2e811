// SPDX-License-Identifier: LGPL-2.1-or-later
// Sequential suppression by one block, one kept box after the other: for methods that need the
// order of kept boxes, and for class limits if classes suppress each other.
#pragma once

#include "core/formula/rescore.h"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

// Boxes that become means of others: summed by one thread in the order of candidates, as in the
// reference.

/// Scratch space: marks, cleared, and the number of kept boxes.
struct SequentialWords {
  Marks marks;
  uint32_t* kept;

  __host__ __device__ SequentialWords(uint32_t* words, uint32_t count)
      : marks(words, count), kept(words + Marks::words(count)) {}

  static constexpr size_t words(uint32_t count) { return Marks::words(count) + 1; }
};

struct MeanShared {
  float4 boxes[kNmsThreads];
  float scores[kNmsThreads];
  uint32_t sums[kNmsWarps];
  float4 mean;
};

/// Returns the mean of a candidate and those from `first` that it overlaps. Called by all threads;
/// ends with a barrier. @param dead if not nullptr, dead candidates are skipped and used ones
/// marked as dead.
template <BoxGeometry Geometry>
__device__ float4 mean_of_overlapping(const DevicePlan& plan, const LargeArgs& args,
                                      MeanShared& shared, uint32_t count, uint32_t first,
                                      const Candidate& own, uint32_t* dead) {
  const NmsContract& contract = plan.rules.contract;
  WeightedMean mean;
  for (uint32_t base = first; base < count; base += kNmsThreads) {
    const uint32_t i = base + threadIdx.x;
    bool joins = i < count && (dead == nullptr || !is_dead(dead, i));
    Candidate other;
    if (joins) {
      other = candidate_at(plan, args.ordered, i);
      joins = other.key == own.key || (same_class(contract, own.key, other.key) &&
                                       keepbox::overlap<Geometry>(plan.rules, own, other));
    }
    uint32_t all = 0;
    const uint32_t at = sum_before(joins ? 1 : 0, shared.sums, all);
    if (joins) {
      shared.boxes[at] = {other.box.x1, other.box.y1, other.box.x2, other.box.y2};
      shared.scores[at] = key_score(other.key);
      if (dead != nullptr) atomicOr(dead + i / kWarp, 1u << i % kWarp);
    }
    __syncthreads();
    for (uint32_t k = 0; threadIdx.x == 0 && k < all; ++k)
      mean.add(contract, to_box(shared.boxes[k]), shared.scores[k]);
  }
  if (threadIdx.x == 0) {
    const Box out = mean.mean(own.box);
    shared.mean = {out.x1, out.y1, out.x2, out.y2};
  }
  __syncthreads();
  return shared.mean;
}

inline constexpr uint32_t kMergeBlocks = 64;

/// Replaces each kept box by the mean of all candidates that it overlaps, in their original form.
/// Boxes are distributed over blocks.
template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kNmsThreads)
    merge_kept(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
               uint32_t count) {
  __shared__ MeanShared shared;
  const uint32_t total = *SequentialWords(args.words, count).kept;
  for (uint32_t k = blockIdx.x; k < total; k += gridDim.x) {
    const Candidate own = candidate_at(plan, args.kept, k);
    const float4 box = mean_of_overlapping<Geometry>(plan, args, shared, count, 0, own, nullptr);
    if (threadIdx.x == 0) args.kept.boxes[k] = box;
    __syncthreads();
  }
}

/// Counts a box of its class. Called by all threads. @return true if it is within the limit.
__device__ inline bool admit_one(const DevicePlan& plan, const SequentialWords& words,
                                 uint64_t key) {
  if (!plan.rules.limits_classes()) return true;
  uint32_t* const own = words.marks.of_class + key_class(key);
  const uint32_t before = __ldcg(own);
  __syncthreads();
  if (threadIdx.x == 0) *own = before + 1;
  __syncthreads();
  return before < plan.rules.class_limit;
}

/// Appends a kept box. Called by one thread.
__device__ inline void append_one(const LargeArgs& args, uint32_t at, uint64_t key,
                                  const float4& box) {
  args.kept.keys[at] = key;
  args.kept.boxes[at] = box;
}

/// Returns the first alive candidate from `from`, or `count`.
__device__ inline uint32_t next_alive(const uint32_t* dead, uint32_t from, uint32_t count) {
  for (uint32_t word = from / kWarp; word < warp_words(count); ++word) {
    uint32_t alive = ~__ldcg(dead + word);
    if (word == from / kWarp) alive &= kFull << from % kWarp;
    if (alive != 0) return min(word * kWarp + __ffs(alive) - 1, count);
  }
  return count;
}

/// Marks all candidates after a kept one that it suppresses. Called by all threads.
template <BoxGeometry Geometry>
__device__ void suppress_after(const DevicePlan& plan, const LargeArgs& args, uint32_t* dead,
                               uint32_t count, uint32_t kept) {
  const bool nearby = plan.rules.method == NmsMethod::kDiou;
  const Candidate own = candidate_at(plan, args.ordered, kept);
  for (uint32_t i = kept + 1 + threadIdx.x; i < count; i += kNmsThreads) {
    const Candidate other = candidate_at(plan, args.ordered, i);
    if (is_dead(dead, i) || !same_class(plan.rules.contract, own.key, other.key)) continue;
    if (nearby ? keepbox::measure_pair<Geometry>(plan.rules, own, other, hits_by_diou<Geometry>)
               : keepbox::overlap<Geometry>(plan.rules, own, other))
      atomicOr(dead + i / kWarp, 1u << i % kWarp);
  }
}

/// Suppresses greedily by any measure, and by weighted means.
template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kNmsThreads)
    sequential_nms(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
                   uint32_t count) {
  __shared__ MeanShared shared;
  const SequentialWords words(args.words, count);
  uint32_t* const dead = words.marks.dead;
  uint32_t total = 0;
  for (uint32_t i = next_alive(dead, 0, count); i < count && total < plan.limit();
       i = next_alive(dead, i + 1, count)) {
    const uint64_t key = args.ordered.keys[i];
    if (!admit_one(plan, words, key)) continue;
    float4 box = args.ordered.boxes[i];
    __syncthreads();
    if (plan.rules.method == NmsMethod::kWeighted)
      box = mean_of_overlapping<Geometry>(plan, args, shared, count, i, candidate(plan, key, box),
                                          dead);
    else suppress_after<Geometry>(plan, args, dead, count, i);
    if (threadIdx.x == 0) append_one(args, total, key, box);
    ++total;
    __syncthreads();
  }
  if (threadIdx.x == 0) *words.kept = total;
}

/// Returns a block's smallest key. @param of_warps scratch space. Ends with a barrier.
__device__ inline uint64_t min_of_block(uint64_t key, uint64_t (&of_warps)[kNmsWarps]) {
#pragma unroll
  for (uint32_t step = 1; step < kWarp; step *= 2)
    key = min(key, static_cast<uint64_t>(
                       __shfl_xor_sync(kFull, static_cast<unsigned long long>(key), step)));
  if (lane_id() == 0) of_warps[warp_id()] = key;
  __syncthreads();
  uint64_t lowest = of_warps[0];
#pragma unroll 8
  for (uint32_t w = 1; w < kNmsWarps; ++w) lowest = min(lowest, of_warps[w]);
  __syncthreads();
  return lowest;
}

/// Returns a candidate's key after a better box was kept; dropped_key() if it no longer passes.
template <BoxGeometry Geometry>
__device__ uint64_t soften_key(const DevicePlan& plan, const Candidate& kept,
                               const Candidate& other) {
  const Rules& rules = plan.rules;
  if (!same_class(rules.contract, kept.key, other.key)) return other.key;
  const float over = keepbox::measure_pair<Geometry>(rules, kept, other, overlap_of<Geometry>);
  const uint64_t key = with_score(other.key, softened(rules, key_score(other.key), over));
  return still_passes(rules, plan.tables, key) ? key : dropped_key(key);
}

/// Suppresses softly. Each thread handles every 1,024th candidate and tracks its best one.
template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kNmsThreads)
    soften(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
           uint32_t count) {
  __shared__ uint64_t of_warps[kNmsWarps];
  __shared__ uint32_t place;
  const SequentialWords words(args.words, count);
  uint32_t total = 0, own_place = 0;
  uint64_t own = kNoKey;
  const auto track_best = [&](uint32_t i, uint64_t key) {
    if (is_dropped(key) || key >= own) return;
    own = key;
    own_place = i;
  };
  for (uint32_t i = threadIdx.x; i < count; i += kNmsThreads) track_best(i, args.ordered.keys[i]);
  while (total < plan.limit()) {
    const uint64_t best = min_of_block(own, of_warps);
    if (best == kNoKey) break;
    if (own == best) place = own_place;
    __syncthreads();
    const uint32_t at = place;
    const bool admitted = admit_one(plan, words, best);
    const Candidate kept = candidate(plan, best, args.ordered.boxes[at]);
    if (admitted && threadIdx.x == 0) append_one(args, total, best, args.ordered.boxes[at]);
    total += admitted ? 1 : 0;
    own = kNoKey;
    for (uint32_t i = threadIdx.x; i < count; i += kNmsThreads) {
      const Candidate each = candidate_at(plan, args.ordered, i);  // accessed by this thread only
      if (is_dropped(each.key)) continue;
      uint64_t key = each.key;
      if (i == at) key = dropped_key(key);
      else if (admitted) key = soften_key<Geometry>(plan, kept, each);
      args.ordered.keys[i] = key;
      track_best(i, key);
    }
  }
  if (threadIdx.x == 0) *words.kept = total;
}

/// Writes out the kept boxes.
cudaError_t launch_write_kept(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                              cudaStream_t stream);

template <BoxGeometry Geometry>
cudaError_t launch_sequential(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                              cudaStream_t stream) {
  const cudaError_t error = clear_marks(args, count, stream);
  if (error != cudaSuccess) return error;
  sequential_nms<Geometry><<<1, kNmsThreads, 0, stream>>>(plan, args, count);
  if (plan.rules.method == NmsMethod::kMerge)
    merge_kept<Geometry><<<kMergeBlocks, kNmsThreads, 0, stream>>>(plan, args, count);
  return launch_write_kept(plan, args, count, stream);
}

template <BoxGeometry Geometry>
cudaError_t launch_soft(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                        cudaStream_t stream) {
  const cudaError_t error = clear_marks(args, count, stream);
  if (error != cudaSuccess) return error;
  soften<Geometry><<<1, kNmsThreads, 0, stream>>>(plan, args, count);
  return launch_write_kept(plan, args, count, stream);
}

}  // namespace keepbox::cuda
