// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes on the device: their shape, bins of positions, and output.
#pragma once

#include "core/formula/emit.h"
#include "core/formula/geometry.h"
#include "kernels/cuda/device/launches.h"
#include "kernels/cuda/device/warp.cuh"

namespace keepbox::cuda {

// Histogram of keys by score: finds the best of many keys, and sorts some thousands in one block.

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

/// Converts a float to an integer with the same order, which is not 0 for numbers, and back.
__device__ inline uint32_t ascending(float value) {
  return ~static_cast<uint32_t>(order_key(value, 0, 0) >> 32);
}
__device__ inline float from_ascending(uint32_t value) {
  return key_score(static_cast<uint64_t>(~value) << 32);
}

// Converts boxes in device memory to shapes of a geometry.

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

/// Returns the angle of a candidate, stored by anchor; 0 for upright boxes and absent candidates.
/// The image is the second dimension of the grid, which is 1 for single-image kernels.
/// @param key its key, or the lower half.
__device__ inline float angle_of(const DevicePlan& plan, uint64_t key) {
  const uint32_t anchor = anchor_in_key(plan.rules.contract, key_anchor(key));
  if (plan.angles == nullptr || anchor >= plan.rules.anchors) return 0;
  return __ldcg(plan.angles + size_t{blockIdx.y} * plan.rules.anchors + anchor);
}

/// Returns the box as the canonical shape of its geometry. @param key its key, or the lower half.
template <BoxGeometry Geometry>
__device__ typename Geometry::Shape shape_of(const DevicePlan& plan, const float4& box,
                                             uint64_t key) {
  float angle = 0;
  if constexpr (Geometry::kOriented) angle = angle_of(plan, key);
  return Geometry::shape(to_box(box), angle, plan.rules.contract, key_class(key));
}

template <BoxGeometry Geometry>
__device__ float area_of(const DevicePlan& plan, const typename Geometry::Shape& shape) {
  return Geometry::area(shape, plan.rules.contract);
}

/// Returns a core Candidate.
__device__ inline Candidate candidate(const DevicePlan& plan, uint64_t key, const float4& box) {
  return {key, to_box(box), angle_of(plan, key)};
}
__device__ inline Candidate candidate_at(const DevicePlan& plan, const Boxes& from, uint32_t i) {
  return candidate(plan, from.keys[i], from.boxes[i]);
}

/// Compares two candidates without stored areas.
template <BoxGeometry Geometry>
__device__ bool overlap(const DevicePlan& plan, const Boxes& of, uint32_t a, uint32_t b) {
  return keepbox::overlap<Geometry>(plan.rules, candidate_at(plan, of, a),
                                    candidate_at(plan, of, b));
}

// Output of kept boxes to the host.

/// Writes half of a box. @param number of the half.
__device__ inline void write_half(const BoxOutput& to, uint32_t number, const uint4& half) {
  reinterpret_cast<uint4*>(to.host)[number] = half;
  if (to.device != nullptr) reinterpret_cast<uint4*>(to.device)[number] = half;
}

/// Writes a box.
__device__ inline void write(const BoxOutput& to, uint32_t number, const Detection& box) {
  static_assert(sizeof(Detection) == 2 * sizeof(uint4));
  uint4 halves[2];
  memcpy(halves, &box, sizeof box);
  write_half(to, 2 * number, halves[0]);
  write_half(to, 2 * number + 1, halves[1]);
}

/// Returns the map between the frame and the block's image.
__device__ inline const Letterbox& letterbox_of(const DevicePlan& plan) {
  return plan.maps == nullptr ? plan.letterbox : plan.maps[blockIdx.y];
}

/// Staging for boxes, so that host memory is written in full lines.
template <uint32_t kThreads>
struct EmitShared {
  uint4 staged[2 * kThreads];  // two per box
  uint32_t sums[kThreads / kWarp];
};

/// Maps a block's boxes to the frame and writes them to `out`, adjacently. Called by all threads;
/// has its own barriers. @param key,box of a thread that has a box. @return their number; adds to
/// `empty` those outside of the frame or filtered out.
template <uint32_t kThreads>
__device__ uint32_t emit(const DevicePlan& plan, EmitShared<kThreads>& shared, bool there,
                         uint64_t key, const float4& box, const BoxOutput& out, uint32_t& empty) {
  uint32_t count = 0;
  const uint32_t at = sum_before(there ? 1 : 0, shared.sums, count);
  bool nothing = false;
  if (there) {
    const Detection box_out =
        emitted(candidate(plan, key, box), letterbox_of(plan), plan.rules, plan.tables);
    memcpy(shared.staged + 2 * at, &box_out, sizeof box_out);
    nothing = is_empty(box_out.box);
  }
  empty += __syncthreads_count(nothing);
  for (uint32_t i = threadIdx.x; i < 2 * count; i += kThreads) write_half(out, i, shared.staged[i]);
  __syncthreads();
  return count;
}

/// Writes a number to the host, which makes the writes of this thread before it, and those of
/// others before the last barrier, visible to the host.
__device__ inline void signal_host(uint32_t& to, uint32_t sequence) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&to), "r"(sequence) : "memory");
}

/// Writes an image's header, except for its sequence. Called by one thread.
__device__ inline void write_header(Header& header, const Header& found) {
  header.state = found.state;
  header.anchors = found.anchors;
  header.above_threshold = found.above_threshold;
  header.not_finite = found.not_finite;
  header.candidates = found.candidates;
  header.kept = found.kept;
  header.empty = found.empty;
}

}  // namespace keepbox::cuda
