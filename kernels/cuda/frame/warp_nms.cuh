// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression of few candidates by a warp, without a sort: keeps the best candidate and
// drops those that it overlaps, until none remains. Efficient if few boxes are kept.
#pragma once

#include "kernels/cuda/device/bins.cuh"
#include "kernels/cuda/device/shape.cuh"

namespace keepbox::cuda {

/// Maximum number of candidates per warp.
inline constexpr uint32_t kMaxWarpList = 4 * kWarp;

/// Returns the lane with the smallest key; kWarp if all are kNoKey.
__device__ inline uint32_t min_lane(uint64_t key) {
  const auto high = static_cast<uint32_t>(key >> 32), low = static_cast<uint32_t>(key);
  const uint32_t lowest = warp_min(high);
  if (lowest == static_cast<uint32_t>(kNoKey >> 32)) return kWarp;
  uint32_t lanes = __ballot_sync(kFull, high == lowest);
  if ((lanes & (lanes - 1)) != 0) {  // equal scores
    const uint32_t min_low = warp_min(high == lowest ? low : ~0u);
    lanes = __ballot_sync(kFull, high == lowest && low == min_low);
  }
  return __ffs(lanes) - 1;
}

/// Number of kept boxes after which a warp leaves the rest of its list to the block, as it does
/// after one that drops no others; and the minimum number of remaining candidates for that.
inline constexpr uint32_t kMaxKeptByWarp = 8, kMinForBlock = 16;

/// A warp's candidates, visible to all lanes.
struct WarpListShared {
  uint64_t keys[kMaxWarpList];
  float4 boxes[kMaxWarpList];
};

/// A warp's candidates in registers of their lanes.
template <BoxGeometry Geometry, uint32_t kEach>
struct WarpList {
  uint64_t keys[kEach];  // kNoKey if absent or dropped
  typename Geometry::Shape shapes[kEach];
  float areas[kEach];

  __device__ WarpList(const DevicePlan& plan, const Boxes& from, uint32_t count,
                      WarpListShared& shared) {
    float4 boxes[kEach];
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t at = i * kWarp + lane_id();
      keys[i] = at < count ? __ldcg(from.keys + at) : kNoKey;
      boxes[i] = at < count ? __ldcg(from.boxes + at) : float4{};
    }
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      shared.keys[i * kWarp + lane_id()] = keys[i];
      shared.boxes[i * kWarp + lane_id()] = boxes[i];
      shapes[i] = shape_of<Geometry>(plan, boxes[i], keys[i]);
      areas[i] = area_of<Geometry>(plan, shapes[i]);
    }
    __syncwarp();
  }

  __device__ uint32_t count_alive() const {
    uint32_t alive = 0;
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) alive += __popc(__ballot_sync(kFull, keys[i] != kNoKey));
    return alive;
  }

  /// Returns the slot of this lane's best candidate.
  __device__ uint32_t best_slot() const {
    uint32_t slot = 0;
    uint64_t lowest = keys[0];
#pragma unroll
    for (uint32_t i = 1; i < kEach; ++i) {
      slot = keys[i] < lowest ? i : slot;
      lowest = min(keys[i], lowest);
    }
    return slot;
  }

  __device__ uint64_t key_at(uint32_t slot) const {
    uint64_t key = keys[0];
#pragma unroll
    for (uint32_t i = 1; i < kEach; ++i) key = slot == i ? keys[i] : key;
    return key;
  }

  /// Drops the candidates that the box at an index overlaps, including itself.
  /// @return true if there are others.
  __device__ bool drop_overlapped(const DevicePlan& plan, const WarpListShared& shared,
                                  uint32_t at) {
    const auto best = shape_of<Geometry>(plan, shared.boxes[at], shared.keys[at]);
    const float area = area_of<Geometry>(plan, best);
    const uint32_t class_bits = plan.rules.contract.class_agnostic ? 0 : kMaxClasses - 1;
    const auto key = static_cast<uint32_t>(shared.keys[at]);
    uint32_t over = 0, unsure = 0;  // one bit per slot
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const bool concerns = ((static_cast<uint32_t>(keys[i]) ^ key) & class_bits) == 0;
      const Guess guess = Geometry::guess(plan.rules, best, area, shapes[i], areas[i]);
      over |= (concerns & guess.over ? 1u : 0u) << i;
      unsure |= (concerns & !guess.sure ? 1u : 0u) << i;
    }
    if (unsure != 0) over = decided(plan, best, area, over, unsure);
    bool others = false;
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const bool own = i * kWarp + lane_id() == at, dropped = (over >> i & 1) != 0;
      others |= dropped & !own & (keys[i] != kNoKey);
      if (own || dropped) keys[i] = kNoKey;
    }
    return __any_sync(kFull, others);
  }

  __device__ uint32_t decided(const DevicePlan& plan, const typename Geometry::Shape& best,
                              float area, uint32_t over, uint32_t unsure) const {
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      if ((unsure >> i & 1) == 0) continue;
      const bool hit = Geometry::decide(plan.rules, best, area, shapes[i], areas[i]);
      over = (over & ~(1u << i)) | (hit ? 1u << i : 0);
    }
    return over;
  }

  /// Writes the remaining candidates to the start of the list. @return their number.
  __device__ uint32_t leave(const Boxes& to, const WarpListShared& shared) const {
    uint32_t left = 0;
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const bool alive = keys[i] != kNoKey;
      const uint32_t all = __ballot_sync(kFull, alive), at = left + __popc(all & lanes_before());
      if (alive) {
        to.keys[at] = keys[i];
        to.boxes[at] = shared.boxes[i * kWarp + lane_id()];
      }
      left += __popc(all);
    }
    return left;
  }

  /// Runs suppression, and stops if many boxes are kept. @param list as loaded.
  /// @param kept one bit per slot of this lane. @return the number of candidates that it leaves.
  __device__ uint32_t suppress_in_warp(const DevicePlan& plan, const Boxes& list,
                                       const WarpListShared& shared, uint32_t& kept) {
    bool alone = false;  // a kept box dropped no others
#pragma unroll 1
    for (uint32_t number = 0;; ++number) {
      if ((number == kMaxKeptByWarp || alone) && count_alive() > kMinForBlock)
        return leave(list, shared);
      const uint32_t slot = best_slot(), owner = min_lane(key_at(slot));
      if (owner == kWarp) return 0;
      const uint32_t at = (kEach > 1 ? __shfl_sync(kFull, slot, owner) : 0) * kWarp + owner;
      if (lane_id() == owner) kept |= 1u << slot;
      if (kEach == 1 && __ballot_sync(kFull, keys[0] != kNoKey) == 1u << owner) return 0;
      alone |= !drop_overlapped(plan, shared, at);
    }
  }
};

/// Runs WarpList::suppress_in_warp() for one list of candidates in a warp, which it leaves if there
/// are too many.
template <BoxGeometry Geometry>
__device__ uint32_t suppress_in_warp(const DevicePlan& plan, const Boxes& list, uint32_t count,
                                     WarpListShared& shared, uint32_t& kept) {
  if (count == 0) return 0;
  if (count <= kWarp)
    return WarpList<Geometry, 1>(plan, list, count, shared)
        .suppress_in_warp(plan, list, shared, kept);
  if (count <= 2 * kWarp)
    return WarpList<Geometry, 2>(plan, list, count, shared)
        .suppress_in_warp(plan, list, shared, kept);
  if (count <= kMaxWarpList)
    return WarpList<Geometry, 4>(plan, list, count, shared)
        .suppress_in_warp(plan, list, shared, kept);
  return count;
}

}  // namespace keepbox::cuda
