// SPDX-License-Identifier: LGPL-2.1-or-later
// Histogram of keys by score: finds the best of many keys, and sorts some thousands in one block.
#pragma once

#include "kernels/cuda/device/launches.h"
#include "kernels/cuda/device/warp.cuh"

namespace keepbox::cuda {

/// Marks an absent candidate: a key whose score would be NaN.
inline constexpr uint64_t kNoKey = ~uint64_t{0};

/// Maps scores to bins: evenly by logarithm over some octaves below 1; other scores go to the first
/// or last bin.
template <uint32_t kBins>
struct ByScore {
  uint32_t best_high;  // upper half of the best key
  uint32_t shift;      // bits of a key below those that number the bins

  __device__ ByScore(uint32_t best_high, uint32_t octaves) : best_high(best_high) {
    constexpr uint32_t kMantissa = 23;
    // Bins per octave, rounded down to a power of two.
    shift = kMantissa - (31 - __clz(static_cast<int>(kBins / octaves)));
  }

  __device__ uint32_t operator()(uint64_t key) const {
    const auto high = static_cast<uint32_t>(key >> 32);
    return high <= best_high ? 0 : min((high - best_high) >> shift, kBins - 1);
  }
};

/// Number of keys per bin, the best bin first. Keys of a bin still need to be ordered.
template <uint32_t kThreads, uint32_t kBins>
struct Bins {
  static constexpr uint32_t kCount = kBins, kEach = kBins / kThreads, kWarps = kThreads / kWarp;
  static_assert(kBins % kThreads == 0);

  uint32_t* counts;

  __device__ void clear() const {
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) counts[i * kThreads + threadIdx.x] = 0;
  }

  /// Turns counts into the number of keys in earlier bins. Called by all threads; has its own
  /// barriers.
  /// @return the total.
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

/// Writes the indices of keys in ascending order to `order`. Called by all threads of a block; ends
/// with a barrier.
/// @tparam kKeys maximum number of keys. @tparam Place type of an index. @param bin_of ascends with
/// the key.
/// @param places scratch space of that size. @pre the bins are cleared, and a barrier follows the
/// last write.
template <uint32_t kKeys, class Place, uint32_t kThreads, uint32_t kBins, class BinOf>
__device__ void put_in_order(const uint64_t* keys, uint32_t count, BinOf bin_of,
                             const Bins<kThreads, kBins>& bins, Place* places, Place* order,
                             uint32_t (&sums)[kThreads / kWarp]) {
  constexpr uint32_t kEach = kKeys / kThreads;
  uint32_t* counts = bins.counts;
  const auto each = [&](auto what) {
#pragma unroll 1
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
    const uint32_t begin = bin == 0 ? 0 : counts[bin - 1];  // by now the end of each bin
    uint32_t rank = begin;
    for (uint32_t j = begin; j < counts[bin]; ++j) rank += keys[places[j]] < key ? 1 : 0;
    order[rank] = static_cast<Place>(place);
  });
  __syncthreads();
}

}  // namespace keepbox::cuda
