// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums over the threads of a block.
#pragma once

#include "kernels/cuda/source.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kBlockThreads = 1024;
inline constexpr uint32_t kBlockWarps = kBlockThreads / kWarp;
static_assert(kBlockWarps == kWarp, "a warp reads a number of each warp");

/// The sum over the lanes up to this one.
__device__ inline uint32_t sum_upto(uint32_t value) {
#pragma unroll
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFull, value, step);
    if (threadIdx.x % kWarp >= step) value += other;
  }
  return value;
}

/// The sum of `value` over the threads before this one, and over all. Begins with a barrier.
__device__ inline uint32_t sum_before(uint32_t value, uint32_t (&sums)[kBlockWarps],
                                      uint32_t& all) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t upto = sum_upto(value);
  __syncthreads();
  if (lane == kWarp - 1) sums[warp] = upto;
  __syncthreads();
  const uint32_t warps = sum_upto(sums[lane]);
  all = __shfl_sync(kFull, warps, kWarp - 1);
  const uint32_t before = __shfl_sync(kFull, warps, (warp + kWarp - 1) % kWarp);
  return upto - value + (warp == 0 ? 0 : before);
}

}  // namespace keepbox::cuda
