// SPDX-License-Identifier: LGPL-2.1-or-later
// Stages a block's candidates in shared memory on their way to the image's lists, so that the
// shared counters are updated once for all of them.
#pragma once

#include "core/formula/candidate.h"
#include "kernels/cuda/device/field_reader.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kStaged = 2 * kFrameThreads;

/// Lists of one image.
struct Lists {
  Boxes all;
  Boxes bucketed;  // by bucket
};

__device__ inline uint32_t bucket_of(const DevicePlan& plan, uint64_t key) {
  return plan.rules.contract.class_agnostic ? 0 : key_class(key) % plan.buckets.count;
}

struct Stage {
  static constexpr uint32_t kAbove = 1u << 16;

  uint64_t keys[kStaged];
  float4 boxes[kStaged];
  uint32_t both;  // anchors above the threshold, and candidates: one atomic addition counts both
  uint32_t not_finite, base;
  uint32_t flushed, all_above;  // includes earlier passes

  __device__ void begin() {
    reset();
    if (threadIdx.x == 0) flushed = all_above = 0;
  }

  __device__ void reset() {
    if (threadIdx.x == 0) both = not_finite = 0;
  }

  /// Adds one anchor, by one thread. @param raw returns the raw values of its box.
  template <class Load, class Raw>
  __device__ void add(const FieldReader<Load>& from, uint32_t anchor, ScoredClass scored, Raw raw) {
    Candidate candidate;
    const Outcome outcome = keepbox::try_candidate(from, anchor, scored, raw, candidate);
    if (outcome == Outcome::kBelow) return;
    if (outcome == Outcome::kNotFinite) atomicAdd(&not_finite, 1u);
    const bool stays = outcome == Outcome::kCandidate;
    const uint32_t at = atomicAdd(&both, kAbove + (stays ? 1 : 0)) % kAbove;
    if (!stays) return;
    if constexpr (Load::kSegments)
      if (from.plan.angles != nullptr)
        from.plan.angles[size_t{from.image} * from.rules.anchors + anchor] = candidate.angle;
    keys[at] = candidate.key;
    boxes[at] = {candidate.box.x1, candidate.box.y1, candidate.box.x2, candidate.box.y2};
  }

  /// Moves all candidates to the image's lists. Called by all threads; has its own barriers.
  __device__ void flush(const DevicePlan& plan, Control& control, const Lists& lists) {
    constexpr uint32_t kEach = kStaged / kFrameThreads;
    const uint32_t count = both % kAbove;
    if (threadIdx.x == 0 && count != 0) base = atomicAdd(&control.taken, count);
    if (threadIdx.x == kWarp && not_finite != 0) atomicAdd(&control.not_finite, not_finite);
    uint32_t slots[kEach];
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t at = i * kFrameThreads + threadIdx.x;
      if (at < count && plan.buckets.count != 0)
        slots[i] = atomicAdd(&control.counts[bucket_of(plan, keys[at])], 1u);
    }
    if (threadIdx.x == 0) {
      flushed += count;
      all_above += both / kAbove;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t at = i * kFrameThreads + threadIdx.x;
      if (at >= count) continue;
      lists.all.keys[base + at] = keys[at];
      lists.all.boxes[base + at] = boxes[at];
      if (plan.buckets.count == 0 || slots[i] >= plan.buckets.capacity) continue;
      const uint32_t to = bucket_of(plan, keys[at]) * plan.buckets.capacity + slots[i];
      lists.bucketed.keys[to] = keys[at];
      lists.bucketed.boxes[to] = boxes[at];
    }
    __syncthreads();
    reset();
    __syncthreads();
  }

  /// Makes room between two passes over as many anchors as there are threads.
  __device__ void flush_if_full(const DevicePlan& plan, Control& control, const Lists& lists) {
    __syncthreads();
    const bool full = both % kAbove > kStaged - kFrameThreads || both / kAbove > kAbove / 2;
    __syncthreads();
    if (full) flush(plan, control, lists);
  }
};

}  // namespace keepbox::cuda
