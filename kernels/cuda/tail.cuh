// SPDX-License-Identifier: LGPL-2.1-or-later
// The end of the frame kernel: the last block of an image suppresses its candidates alone.
//
// No sort comes before it. Candidates are dealt out by class, and a class is thinned out by picking
// its best box and striking what that overlaps until none is left, which is greedy suppression in
// the total order; classes do not wait for each other. Only what is kept is then put in order.
#pragma once

#include "kernels/cuda/sort.cuh"
#include "kernels/cuda/source.cuh"

namespace keepbox::cuda {

/// Candidates of a class that one warp takes on; the block works on larger ones together.
inline constexpr uint32_t kWarpBoxes = 4;
inline constexpr uint32_t kWarpBucket = kWarpBoxes * kWarp;
/// Candidates of a class that a block takes on.
inline constexpr uint32_t kBlockBoxes = 2;
inline constexpr uint32_t kBlockBucket = kBlockBoxes * kFrameThreads;
inline constexpr uint32_t kTailWarps = kFrameThreads / kWarp;
static_assert(kTailWarps == kWarp, "a warp reads a number of each warp");

/// Shared memory of the tail: arrays of `capacity`, and of classes.
struct Tail {
  uint64_t* keys;      // by class
  float4* boxes;       // the same
  uint64_t* order;     // keys of kept ones
  uint32_t* place;     // where they stand
  uint32_t* start;     // class_ids + 1: of each class in keys
  uint32_t* filled;    // class_ids: classes that have candidates

  __device__ Tail(unsigned char* memory, uint32_t capacity, uint32_t class_ids) {
    boxes = reinterpret_cast<float4*>(memory);
    keys = reinterpret_cast<uint64_t*>(boxes + capacity);
    order = keys + capacity;
    place = reinterpret_cast<uint32_t*>(order + capacity);
    start = place + capacity;
    filled = start + class_ids + 1;
  }
};

constexpr size_t tail_shared_bytes(uint32_t capacity, uint32_t class_ids) {
  return capacity * (sizeof(float4) + 2 * sizeof(uint64_t) + sizeof(uint32_t)) +
         (2 * size_t{class_ids} + 1) * sizeof(uint32_t);
}

/// The tail's few shared numbers.
struct TailShared {
  uint64_t scan[kTailWarps];
  uint64_t best[2][kTailWarps];
  uint32_t best_at[2][kTailWarps];
  uint32_t kept, next, filled, largest;
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

__device__ inline uint64_t warp_min(uint64_t key) {
  const auto high = static_cast<uint32_t>(key >> 32), low = static_cast<uint32_t>(key);
  const uint32_t least = warp_min(high);
  return static_cast<uint64_t>(least) << 32 | warp_min(high == least ? low : ~0u);
}

/// No candidate has this key: its score would be a NaN.
inline constexpr uint64_t kNoKey = ~uint64_t{0};

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

__device__ inline void note_kept(const Tail& tail, TailShared& shared, uint64_t key, uint32_t at) {
  const uint32_t slot = atomicAdd(&shared.kept, 1u);
  tail.order[slot] = key;
  tail.place[slot] = at;
}

/// One class of at most kWarpBucket candidates from `first` on, by a warp.
__device__ inline void thin_by_warp(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                                    uint32_t first, uint32_t count) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint64_t keys[kWarpBoxes];
  Box boxes[kWarpBoxes];
#pragma unroll
  for (uint32_t i = 0; i < kWarpBoxes; ++i) {
    const uint32_t at = i * kWarp + lane;
    keys[i] = at < count ? tail.keys[first + at] : kNoKey;
    if (at < count) boxes[i] = to_box(tail.boxes[first + at]);
  }
  const bool suppress = plan.method != NmsMethod::kNone;
  for (uint32_t kept = 0; kept < plan.max_detections; ++kept) {
    uint64_t mine = keys[0];
    uint32_t at = lane;
#pragma unroll
    for (uint32_t i = 1; i < kWarpBoxes; ++i)
      if (keys[i] < mine) {
        mine = keys[i];
        at = i * kWarp + lane;
      }
    const uint64_t best = warp_min(mine);
    if (best == kNoKey) return;
    const uint32_t owner = __ffs(__ballot_sync(kFull, mine == best)) - 1;
    at = first + __shfl_sync(kFull, at, owner);
    if (lane == owner) note_kept(tail, shared, best, at);
    const Box box = to_box(tail.boxes[at]);
#pragma unroll
    for (uint32_t i = 0; i < kWarpBoxes; ++i)
      if (keys[i] == best || (suppress && keys[i] != kNoKey &&
                              overlaps(box, boxes[i], plan.iou_threshold, plan.contract)))
        keys[i] = kNoKey;
  }
}

/// One class of at most kBlockBucket candidates, by the block.
__device__ inline void thin_by_block(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                                     uint32_t first, uint32_t count) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint64_t keys[kBlockBoxes];
#pragma unroll
  for (uint32_t i = 0; i < kBlockBoxes; ++i) {
    const uint32_t at = i * kFrameThreads + threadIdx.x;
    keys[i] = at < count ? tail.keys[first + at] : kNoKey;
  }
  const bool suppress = plan.method != NmsMethod::kNone;
  for (uint32_t kept = 0; kept < plan.max_detections; ++kept) {
    uint64_t mine = keys[0];
    uint32_t at = threadIdx.x;
#pragma unroll
    for (uint32_t i = 1; i < kBlockBoxes; ++i)
      if (keys[i] < mine) {
        mine = keys[i];
        at = i * kFrameThreads + threadIdx.x;
      }
    const uint64_t of_warp = warp_min(mine);
    const uint32_t turn = kept % 2;  // so that one barrier a round is enough
    if (mine == of_warp && (mine != kNoKey || lane == 0)) {
      shared.best[turn][warp] = of_warp;
      shared.best_at[turn][warp] = at;
    }
    __syncthreads();
    mine = shared.best[turn][lane];
    const uint64_t best = warp_min(mine);
    if (best == kNoKey) break;
    const uint32_t owner = __ffs(__ballot_sync(kFull, mine == best)) - 1;
    at = first + shared.best_at[turn][owner];
    if (threadIdx.x == 0) note_kept(tail, shared, best, at);
    const Box box = to_box(tail.boxes[at]);
#pragma unroll
    for (uint32_t i = 0; i < kBlockBoxes; ++i) {
      if (keys[i] == kNoKey) continue;
      const Box other = to_box(tail.boxes[first + i * kFrameThreads + threadIdx.x]);
      if (keys[i] == best || (suppress && overlaps(box, other, plan.iou_threshold, plan.contract)))
        keys[i] = kNoKey;
    }
  }
  __syncthreads();
}

/// Turns counts of classes into starts, and lists the classes that have any.
/// @return the largest count.
__device__ inline uint32_t start_classes(const Tail& tail, TailShared& shared, uint32_t ids) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t each = (ids + kFrameThreads - 1) / kFrameThreads, first = threadIdx.x * each;
  uint64_t sum = 0;  // candidates in the lower half, classes in the upper
  for (uint32_t c = first; c < min(first + each, ids); ++c) {
    const uint32_t count = tail.start[c];
    if (count == 0) continue;
    sum += uint64_t{1} << 32 | count;
    atomicMax(&shared.largest, count);
  }
  uint64_t before = sum;
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint64_t other = __shfl_up_sync(kFull, before, step);
    if (lane >= step) before += other;
  }
  if (lane == kWarp - 1) shared.scan[warp] = before;
  __syncthreads();
  uint64_t total = shared.scan[lane];
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint64_t other = __shfl_up_sync(kFull, total, step);
    if (lane >= step) total += other;
  }
  const uint64_t warps_before = __shfl_sync(kFull, total, (warp + kWarp - 1) % kWarp);
  before += (warp == 0 ? 0 : warps_before) - sum;
  for (uint32_t c = first; c < min(first + each, ids); ++c) {
    const uint32_t count = tail.start[c];
    tail.start[c] = static_cast<uint32_t>(before);
    if (count == 0) continue;
    tail.filled[before >> 32] = c;
    before += uint64_t{1} << 32 | count;
  }
  if (threadIdx.x == kFrameThreads - 1) {
    tail.start[ids] = static_cast<uint32_t>(before);
    shared.filled = static_cast<uint32_t>(before >> 32);
  }
  __syncthreads();
  return shared.largest;
}

}  // namespace keepbox::cuda
