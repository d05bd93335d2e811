// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlaps of ordered candidates with each other, one bit per pair.
#pragma once

#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kChunk = kNmsThreads;  // candidates that a block resolves together
inline constexpr uint32_t kChunkWords = kChunk / kWarp;

/// Rows that a warp compares with the same 32 candidates.
inline constexpr uint32_t kRowsAtOnce = 8;

/// Returns the tasks of write_overlaps(): a warp's share is one at a time.
__host__ __device__ constexpr uint32_t overlap_tasks(uint32_t count) {
  return (count + kRowsAtOnce - 1) / kRowsAtOnce * warp_words(count);
}

/// Writes the bits of all pairs. Called by all warps of the grid. @param at returns a candidate by
/// its rank: key(), box(), area(), which may be called with any rank below `count`.
/// @param mask [word][candidate], `stride` candidates wide: the better candidates of a word that
/// overlap it, and not written for words after its own.
template <BoxGeometry Geometry, class Ordered>
__device__ void write_overlaps(const DevicePlan& plan, const Ordered& at, uint32_t count,
                               uint32_t* mask, uint32_t stride) {
  const uint32_t columns = warp_words(count), warps = gridDim.x * kNmsWarps;
  for (uint32_t task = blockIdx.x * kNmsWarps + warp_id(); task < overlap_tasks(count);
       task += warps) {
    const uint32_t word = task % columns, first = task / columns * kRowsAtOnce;
    if (word * kWarp > first + kRowsAtOnce - 1) continue;
    const uint32_t j = word * kWarp + lane_id(), other = min(j, count - 1);
    const uint64_t key = at.key(other);
    const auto shape = shape_of<Geometry>(plan, at.box(other), key);
    const float area = at.area(other, shape);
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
      const uint32_t i = first + r;
      if (i >= count) break;
      const uint64_t own = at.key(i);
      const auto row = shape_of<Geometry>(plan, at.box(i), own);
      const bool hit = (j < i) & same_class(plan.rules.contract, own, key) &
                       hits<Geometry>(plan.rules, row, at.area(i, row), shape, area);
      const uint32_t bits = __ballot_sync(kFull, hit);
      if (lane_id() == 0) mask[word * stride + i] = bits;
    }
  }
}

}  // namespace keepbox::cuda
