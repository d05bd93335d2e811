// SPDX-License-Identifier: LGPL-2.1-or-later
// Sorting in shared memory by one block.
#pragma once

#include "kernels/cuda/device.h"

namespace keepbox::cuda {

/// The least power of 2 that is not below `n`.
__device__ inline uint32_t round_up_pow2(uint32_t n) {
  return n <= 1 ? 1 : 1u << (32 - __clz(n - 1));
}

/// Ascending bitonic sort of `n` keys with what goes along. Begins and ends with a barrier.
/// @param n a power of 2.
template <class Value>
__device__ void block_sort(uint64_t* keys, Value* values, uint32_t n) {
  for (uint32_t size = 2; size <= n; size *= 2) {
    for (uint32_t stride = size / 2; stride > 0; stride /= 2) {
      // 32 neighbouring pairs of a stride up to 32 lie in 64 neighbouring keys: one warp's own.
      if (stride >= 32 || size == 2) __syncthreads();
      else __syncwarp();
      for (uint32_t pair = threadIdx.x; pair < n / 2; pair += blockDim.x) {
        const uint32_t low = 2 * pair - (pair & (stride - 1)), high = low + stride;
        const uint64_t a = keys[low], b = keys[high];
        if ((a > b) == ((low & size) == 0)) {
          keys[low] = b;
          keys[high] = a;
          const Value value = values[low];
          values[low] = values[high];
          values[high] = value;
        }
      }
    }
  }
  __syncthreads();
}

}  // namespace keepbox::cuda
