// SPDX-License-Identifier: LGPL-2.1-or-later
// Keys by bins of their score: to find the best of many, and to put some thousands in order by one
// block.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/warp.cuh"

namespace keepbox::cuda {

/// No candidate has this key: its score would be a NaN.
inline constexpr uint64_t kNoKey = ~uint64_t{0};

/// Which bin a score falls into: over some octaves from 1 down they are spread evenly by their
/// logarithm, others fall into the ends.
template <uint32_t kBins>
struct ByScore {
  uint32_t best_high, octaves;  // of the upper half of a key

  __device__ uint32_t operator()(uint64_t key) const {
    constexpr uint32_t kMantissa = 23;
    const auto high = static_cast<uint32_t>(key >> 32);
    if (high <= best_high) return 0;
    // An octave's share of the bins, in whole powers of two.
    const uint32_t shift = kMantissa - (31 - __clz(kBins / octaves));
    return min((high - best_high) >> shift, kBins - 1);
  }
};

/// Counts of keys by bin, the best first. A bin's keys still have an order among themselves.
template <uint32_t kThreads, uint32_t kBins>
struct Bins {
  static constexpr uint32_t kCount = kBins, kEach = kBins / kThreads, kWarps = kThreads / kWarp;
  static_assert(kBins % kThreads == 0);

  uint32_t* counts;

  __device__ void clear() const {
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) counts[i * kThreads + threadIdx.x] = 0;
  }

  /// Turns counts into numbers of keys in earlier bins. Between barriers of its own.
  /// @return the number of all.
  __device__ uint32_t accumulate(uint32_t (&sums)[kWarps]) const {
    uint32_t own[kEach], all = 0, sum = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      own[i] = sum;
      sum += counts[kEach * threadIdx.x + i];
    }
    const uint32_t before = sum_before(sum, sums, all);
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) counts[kEach * threadIdx.x + i] = before + own[i];
    __syncthreads();
    return all;
  }
};

/// Writes to `order` where keys stand, the least first. By a block, which all threads call.
/// @tparam kKeys at most. @tparam Place of their number. @param bin_of ascends with the key.
/// @param places room for as many. @pre the bins are clear, and all has been written behind a
/// barrier. Ends with one.
template <uint32_t kKeys, class Place, uint32_t kThreads, uint32_t kBins, class BinOf>
__device__ void put_in_order(const uint64_t* keys, uint32_t count, BinOf bin_of,
                             const Bins<kThreads, kBins>& bins, Place* places, Place* order,
                             uint32_t (&sums)[kThreads / kWarp]) {
  constexpr uint32_t kEach = kKeys / kThreads;
  uint32_t* counts = bins.counts;
  const auto each = [&](auto what) {
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i)
      if (i * kThreads + threadIdx.x < count) what(i * kThreads + threadIdx.x);
  };
  each([&](uint32_t at) { atomicAdd(&counts[bin_of(keys[at])], 1u); });
  bins.accumulate(sums);
  each([&](uint32_t at) {
    places[atomicAdd(&counts[bin_of(keys[at])], 1u)] = static_cast<Place>(at);
  });
  __syncthreads();
  each([&](uint32_t at) {
    const uint32_t place = places[at];
    const uint64_t key = keys[place];
    const uint32_t bin = bin_of(key);
    const uint32_t begin = bin == 0 ? 0 : counts[bin - 1];  // each bin's end by now
    uint32_t rank = begin;
    for (uint32_t j = begin; j < counts[bin]; ++j) rank += keys[places[j]] < key ? 1 : 0;
    order[rank] = static_cast<Place>(place);
  });
  __syncthreads();
}

}  // namespace keepbox::cuda
