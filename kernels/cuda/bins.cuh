// SPDX-License-Identifier: LGPL-2.1-or-later
// Keys by bins of their score: to find the best of many, and to put up to 2,048 in order by one
// block.
#pragma once

#include "kernels/cuda/block.cuh"

namespace keepbox::cuda {

/// No candidate has this key: its score would be a NaN.
inline constexpr uint64_t kNoKey = ~uint64_t{0};

/// Keys that a thread looks after, and a block.
inline constexpr uint32_t kKeysEach = 2;
inline constexpr uint32_t kBlockKeys = kKeysEach * kBlockThreads;

/// Which bin a score falls into: from 1 down to the lowest threshold they are spread evenly by
/// their logarithm, others fall into the ends.
struct ByScore {
  uint32_t best_high, shift;  // of the upper half of a key

  __device__ uint32_t operator()(uint64_t key) const;
};

/// Counts of keys by bin, the best first. A bin's keys still have an order among themselves.
struct Bins {
  static constexpr uint32_t kCount = 2 * kBlockThreads;

  uint32_t* counts;

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

__device__ inline uint32_t ByScore::operator()(uint64_t key) const {
  const auto high = static_cast<uint32_t>(key >> 32);
  return high <= best_high ? 0 : min((high - best_high) >> shift, Bins::kCount - 1);
}

/// Writes to `order` where the keys that are not kNoKey stand, the least first.
/// @param count at most kBlockKeys. @param bin_of ascends with the key.
/// @param places room for as many. @pre the bins are clear; they are again afterwards.
/// @return how many.
template <class BinOf>
__device__ uint32_t put_in_order(const uint64_t* keys, uint32_t count, BinOf bin_of,
                                 const Bins& bins, uint32_t* places, uint32_t* order,
                                 uint32_t (&sums)[kBlockWarps]) {
  uint32_t* counts = bins.counts;
  uint32_t own[kKeysEach];
#pragma unroll
  for (uint32_t i = 0; i < kKeysEach; ++i) {
    const uint32_t at = i * kBlockThreads + threadIdx.x;
    const uint64_t key = at < count ? keys[at] : kNoKey;
    own[i] = key == kNoKey ? Bins::kCount : bin_of(key);
    if (key != kNoKey) atomicAdd(&counts[own[i]], 1u);
  }
  const uint32_t all = bins.accumulate(sums);
#pragma unroll
  for (uint32_t i = 0; i < kKeysEach; ++i)
    if (own[i] != Bins::kCount)
      places[atomicAdd(&counts[own[i]], 1u)] = i * kBlockThreads + threadIdx.x;
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < kKeysEach; ++i) {
    if (own[i] == Bins::kCount) continue;
    const uint32_t place = i * kBlockThreads + threadIdx.x;
    const uint32_t begin = own[i] == 0 ? 0 : counts[own[i] - 1];  // each bin's end by now
    const uint64_t key = keys[place];
    uint32_t rank = begin;
    for (uint32_t j = begin; j < counts[own[i]]; ++j) rank += keys[places[j]] < key ? 1 : 0;
    order[rank] = place;
  }
  __syncthreads();
  bins.clear();
  __syncthreads();
  return all;
}

}  // namespace keepbox::cuda
