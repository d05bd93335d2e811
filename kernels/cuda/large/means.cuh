// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes that become means of others: summed by one thread in the order of candidates, as in the
// reference.
#pragma once

#include "core/formula/rescore.h"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

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

}  // namespace keepbox::cuda
