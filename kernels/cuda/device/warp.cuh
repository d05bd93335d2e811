// SPDX-License-Identifier: LGPL-2.1-or-later
// Warp helpers, and sums over the threads of a block.
#pragma once

#include "kernels/cuda/device/launches.h"

namespace keepbox::cuda {

inline constexpr uint32_t kFull = 0xffffffffu;

/// Returns the words for one bit per candidate.
__host__ __device__ constexpr uint32_t warp_words(uint32_t count) {
  return (count + kWarp - 1) / kWarp;
}

__device__ inline uint32_t lane_id() { return threadIdx.x % kWarp; }
__device__ inline uint32_t warp_id() { return threadIdx.x / kWarp; }
__device__ inline uint32_t lanes_before() { return (1u << lane_id()) - 1; }

/// Returns the inclusive prefix sum over lanes.
__device__ inline uint32_t sum_upto(uint32_t value) {
#pragma unroll
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFull, value, step);
    if (lane_id() >= step) value += other;
  }
  return value;
}

/// Returns the sum of `value` over the threads before this one, and over all. Begins with a
/// barrier.
/// @tparam kWarps per block, at most 32.
template <uint32_t kWarps>
__device__ uint32_t sum_before(uint32_t value, uint32_t (&sums)[kWarps], uint32_t& all) {
  static_assert(kWarps <= kWarp, "a lane reads the sum of each warp");
  const uint32_t upto = sum_upto(value);
  __syncthreads();
  if (lane_id() == kWarp - 1) sums[warp_id()] = upto;
  __syncthreads();
  const uint32_t warps = sum_upto(lane_id() < kWarps ? sums[lane_id()] : 0);
  all = __shfl_sync(kFull, warps, kWarp - 1);
  const uint32_t before = __shfl_sync(kFull, warps, (warp_id() + kWarp - 1) % kWarp);
  return upto - value + (warp_id() == 0 ? 0 : before);
}

__device__ inline uint32_t warp_min(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFull, value);
#else
  for (uint32_t step = kWarp / 2; step > 0; step /= 2)
    value = min(value, __shfl_xor_sync(kFull, value, step));
  return value;
#endif
}

}  // namespace keepbox::cuda
