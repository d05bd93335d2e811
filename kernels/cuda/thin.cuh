// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression without a sort: the best box of a class is kept and strikes out what it
// overlaps, until none is left.
#pragma once

#include "kernels/cuda/bins.cuh"
#include "kernels/cuda/overlap.cuh"

namespace keepbox::cuda {

/// Candidates of a class that one warp takes on.
inline constexpr uint32_t kWarpBucket = 4 * kWarp;

/// Candidates by class. Of those that are not kept, thinning out leaves kNoKey instead of the key.
struct Dealt {
  uint64_t* keys;
  float4* boxes;
};

__device__ inline uint32_t warp_min(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFull, value);
#else
  for (uint32_t step = kWarp / 2; step > 0; step /= 2)
    value = min(value, __shfl_xor_sync(kFull, value, step));
  return value;
#endif
}

/// The lane with the least key; kWarp when all are kNoKey.
__device__ inline uint32_t least_lane(uint64_t key) {
  const auto high = static_cast<uint32_t>(key >> 32), low = static_cast<uint32_t>(key);
  const uint32_t least = warp_min(high);
  if (least == static_cast<uint32_t>(kNoKey >> 32)) return kWarp;
  uint32_t lanes = __ballot_sync(kFull, high == least);
  if ((lanes & (lanes - 1)) != 0) {  // equal scores
    const uint32_t least_low = warp_min(high == least ? low : ~0u);
    lanes = __ballot_sync(kFull, high == least && low == least_low);
  }
  return __ffs(lanes) - 1;
}

/// More than any overlap, for the method that suppresses nothing.
__device__ inline float threshold_of(const DevicePlan& plan) {
  return plan.rules.method == NmsMethod::kNone ? INFINITY : plan.rules.iou_threshold;
}

/// Boxes that a warp keeps of a class that is more than a lane each, before it asks whether a block
/// would be quicker, and the candidates that must then be left for that.
inline constexpr uint32_t kPatience = 8, kWorthBlock = 16;

template <uint32_t kEach>
__device__ uint32_t count_alive(const uint64_t (&keys)[kEach]) {
  uint32_t alive = 0;
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) alive += __popc(__ballot_sync(kFull, keys[i] != kNoKey));
  return alive;
}

/// One class of at most 32 kEach candidates from `first` on, by a warp that holds them in
/// registers. @param patient to the end, whatever it takes. @return whether it is done: if not,
/// those that are left have their keys as the kept ones do, and come after them.
template <bool kPlain, uint32_t kEach>
__device__ bool thin_by_warp(const DevicePlan& plan, const Dealt& dealt, uint32_t first,
                             uint32_t count, bool patient) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint64_t keys[kEach];
  float4 boxes[kEach];
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t at = first + min(i * kWarp + lane, count - 1);
    keys[i] = i * kWarp + lane < count ? dealt.keys[at] : kNoKey;
    boxes[i] = dealt.boxes[at];
  }
  const float threshold = threshold_of(plan);
  uint32_t kept = 0;  // a bit for each of this lane's
  bool done = true;
  const uint32_t ask_at = patient ? 0 : max(plan.rules.max_detections, kPatience) - kPatience;
  for (uint32_t left = plan.rules.max_detections; left > 0; --left) {
    if (kEach > 1 && left == ask_at && count_alive(keys) > kWorthBlock) {
      done = false;
      break;
    }
    if (kEach == 1) {
      const uint32_t alive = __ballot_sync(kFull, keys[0] != kNoKey);
      if ((alive & (alive - 1)) == 0) {  // none, or one that nothing is left to overlap with
        kept |= alive >> lane & 1;
        break;
      }
    }
    uint64_t mine = keys[0];
    uint32_t slot = 0;
#pragma unroll
    for (uint32_t i = 1; i < kEach; ++i) {
      slot = keys[i] < mine ? i : slot;
      mine = min(keys[i], mine);
    }
    const uint32_t owner = least_lane(mine);
    if (owner == kWarp) break;
    if (kEach > 1) slot = __shfl_sync(kFull, slot, owner);
    const float4 best = dealt.boxes[first + slot * kWarp + owner];
    const uint32_t own = lane == owner ? 1u << slot : 0;
    kept |= own;
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i)
      keys[i] = hits<kPlain>(plan, threshold, best, boxes[i]) | (own >> i & 1) ? kNoKey : keys[i];
  }
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i)
    if (i * kWarp + lane < count && (kept >> i & 1) == 0 && (done || keys[i] == kNoKey))
      dealt.keys[first + i * kWarp + lane] = kNoKey;
  return done;
}

}  // namespace keepbox::cuda
