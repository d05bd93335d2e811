// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of an image's buckets by the blocks that finish their scan last: a warp handles a
// bucket, a block a group of buckets, and all warps together the buckets that take a warp too long.
//
// The last block to finish its scan never waits for another one. Blocks that wait for it give up
// after some time, and then it does everything: frames complete however few of their blocks run at
// a time.
#pragma once

#include "kernels/cuda/device/scan_counters.cuh"
#include "kernels/cuda/frame/suppress_masks.cuh"
#include "kernels/cuda/frame/warp_nms.cuh"

namespace keepbox::cuda {

template <BoxGeometry Geometry>
struct SuppressShared {
  union {
    WarpListShared warp_lists[kGroupBuckets];
    MaskShared<Geometry> masks;
  };
  alignas(16) uint32_t counts[kMaxBuckets];
  uint32_t kept;                 // in the group
  uint32_t filled;               // bits of groups with candidates
  uint32_t left[kGroupBuckets];  // candidates of buckets that warps leave
  bool finished;
};

/// Position of this block among the unfinished blocks of its image.
struct Worker {
  uint32_t number, count;  // 0 is the last one to finish its scan
};

/// Reads the number of candidates per bucket. Called by all threads. @return the non-empty groups.
template <BoxGeometry Geometry>
__device__ uint32_t read_counts(const DevicePlan& plan, const Control& control,
                                SuppressShared<Geometry>& shared) {
  static_assert(kMaxBuckets <= kFrameThreads && kMaxGroups <= 32);
  if (threadIdx.x == 0) shared.filled = 0;
  const uint32_t own = threadIdx.x < plan.buckets.count ? __ldcg(control.counts + threadIdx.x) : 0;
  __syncthreads();
  if (threadIdx.x < kMaxBuckets) shared.counts[threadIdx.x] = own;
  if (own != 0) atomicOr(&shared.filled, 1u << threadIdx.x / kGroupBuckets);
  __syncthreads();
  return shared.filled;
}

/// One group of buckets of an image.
template <BoxGeometry Geometry>
struct Group {
  const DevicePlan& plan;
  Control& control;
  const Boxes& bucketed;
  const Boxes& out;  // output of the group's kept boxes
  SuppressShared<Geometry>& shared;
  uint32_t number;

  /// Loads a warp's candidates of the planned rows: to registers, and as shapes to shared memory.
  __device__ void load(uint64_t (&keys)[kRowsEach], float4 (&boxes)[kRowsEach]) const {
#pragma unroll
    for (uint32_t e = 0; e < kRowsEach; ++e) {
      const uint32_t at = warp_id() + e * kFrameWarps;
      keys[e] = kNoKey;
      boxes[e] = {};
      if (at >= shared.masks.row_count) continue;
      const Row row = shared.masks.rows[at];
      const Boxes from = bucket(row.list).from((at - row.first) * kWarp + lane_id());
      if (lane_id() >= row.count) continue;
      keys[e] = __ldcg(from.keys);
      boxes[e] = __ldcg(from.boxes);
    }
#pragma unroll
    for (uint32_t e = 0; e < kRowsEach; ++e) {
      const uint32_t slot = (warp_id() + e * kFrameWarps) * kWarp + lane_id();
      const auto shape = shape_of<Geometry>(plan, boxes[e], keys[e]);
      shared.masks.keys[slot] = keys[e];
      shared.masks.slots[slot].put(shape);
      shared.masks.areas[slot] = area_of<Geometry>(plan, shape);
    }
  }

  /// Returns the image's bucket for a list of the group.
  __device__ uint32_t number_of(uint32_t list) const { return number * kGroupBuckets + list; }
  __device__ Boxes bucket(uint32_t list) const {
    return bucketed.from(size_t{number_of(list)} * plan.buckets.capacity);
  }

  /// Writes out the candidates of a row that a warp keeps.
  __device__ void keep(bool kept, uint64_t key, const float4& box) const {
    const uint32_t all = __ballot_sync(kFull, kept);
    if (all == 0) return;
    uint32_t first = 0;
    if (lane_id() == 0) first = atomicAdd(&shared.kept, __popc(all));
    first = __shfl_sync(kFull, first, 0);
    if (!kept) return;
    const uint32_t at = first + __popc(all & lanes_before());
    out.keys[at] = key;
    out.boxes[at] = box;
  }

  /// Processes the whole group. Called by all threads. @return true if it is the last of `groups`.
  __device__ bool run(uint32_t groups) const {
    if (threadIdx.x == 0) shared.kept = 0;
    const bool has_one = warp_id() < kGroupBuckets;
    const uint32_t found = has_one ? shared.counts[number_of(warp_id())] : 0;
    const uint32_t count = found > plan.buckets.capacity ? 0 : found;
    if (found != count && lane_id() == 0) control.overflowed = 1;
    WarpListShared& warp_list = shared.warp_lists[warp_id() % kGroupBuckets];
    uint32_t kept = 0;
    const uint32_t left =
        suppress_in_warp<Geometry>(plan, bucket(warp_id()), count, warp_list, kept);
    if (lane_id() == 0 && has_one) shared.left[warp_id()] = left;
    const bool any_left = __syncthreads_or(left != 0) != 0;
    const uint32_t listed = count <= kMaxWarpList ? count : 0;
#pragma unroll 1
    for (uint32_t i = 0; i * kWarp < listed; ++i) {
      const uint32_t at = i * kWarp + lane_id();
      keep((kept >> i & 1) != 0, warp_list.keys[at], warp_list.boxes[at]);
    }
    if (any_left) settle();
    return finish(groups);
  }

  /// Settles the remaining lists. Called by all threads.
  __device__ void settle() const {
#pragma unroll 1
    for (uint32_t first = 0; first < kGroupBuckets; first = shared.masks.next) {
      __syncthreads();
      plan_rows(shared.left, plan.buckets.capacity, first, shared.masks);
      uint64_t keys[kRowsEach];
      float4 boxes[kRowsEach];
      load(keys, boxes);
      for (uint32_t i = warp_id(); i < shared.masks.task_count; i += kFrameWarps)
        shared.masks.masks[i][lane_id()] = 0;
      __syncthreads();
      compare_rows(plan, shared.masks);
      __syncthreads();
      const uint32_t kept = resolve_rows(shared.masks);
#pragma unroll
      for (uint32_t e = 0; e < kRowsEach; ++e) keep((kept >> e & 1) != 0, keys[e], boxes[e]);
    }
  }

  __device__ bool finish(uint32_t groups) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      control.kept[number] = shared.kept;
      shared.finished = add_acq_rel(&control.finished, 1) + 1 == groups;
    }
    __syncthreads();
    return shared.finished;
  }
};

/// Processes the groups of this block. @return true if it finished the last one of all.
template <BoxGeometry Geometry>
__device__ bool suppress(const DevicePlan& plan, Control& control, const Boxes& bucketed,
                         const Boxes& kept, SuppressShared<Geometry>& shared,
                         const Worker& worker) {
  const uint32_t filled = read_counts(plan, control, shared), groups = __popc(filled);
  // Groups with candidates are distributed in turn.
  const bool assigned = (filled >> lane_id() & 1) != 0 &&
                        __popc(filled & lanes_before()) % worker.count == worker.number;
#pragma unroll 1
  for (uint32_t todo = __ballot_sync(kFull, assigned); todo != 0; todo &= todo - 1) {
    const uint32_t number = __ffs(todo) - 1;
    const Boxes out = kept.from(number * plan.buckets.group_capacity());
    if (Group<Geometry>{plan, control, bucketed, out, shared, number}.run(groups)) return true;
  }
  return groups == 0 && worker.number == 0;
}

}  // namespace keepbox::cuda
