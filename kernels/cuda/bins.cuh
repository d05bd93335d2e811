// SPDX-License-Identifier: LGPL-2.1-or-later
// Keys by bins of their score: to find the best of many, and to put few in order, without a sort.
#pragma once

#include "kernels/cuda/block.cuh"

namespace keepbox::cuda {

/// Counts of keys by score, the best first. A bin's keys still have an order among themselves.
struct Bins {
  static constexpr uint32_t kCount = 2 * kBlockThreads;

  uint32_t* counts;

  /// Scores from 1 down to the lowest threshold, evenly by their logarithm; others at the ends.
  static __device__ uint32_t of(const DevicePlan& plan, uint64_t key) {
    const auto high = static_cast<uint32_t>(key >> 32);
    return high <= plan.best_high ? 0 : min((high - plan.best_high) >> plan.bin_shift, kCount - 1);
  }

  __device__ void clear() const {
    counts[threadIdx.x] = 0;
    counts[kBlockThreads + threadIdx.x] = 0;
  }

  /// Turns counts into numbers of keys in earlier bins. Between barriers of its own.
  /// @return the number of all.
  __device__ uint32_t accumulate(uint32_t (&sums)[kBlockWarps]) const {
    uint32_t all = 0;
    __syncthreads();
    const uint32_t first = counts[2 * threadIdx.x], second = counts[2 * threadIdx.x + 1];
    const uint32_t before = sum_before(first + second, sums, all);
    counts[2 * threadIdx.x] = before;
    counts[2 * threadIdx.x + 1] = before + first;
    __syncthreads();
    return all;
  }
};

}  // namespace keepbox::cuda
