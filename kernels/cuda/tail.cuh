// SPDX-License-Identifier: LGPL-2.1-or-later
// The end of the frame kernel: the last block of an image suppresses its candidates alone.
//
// Of many candidates only the best by score are looked at, which is enough when they give as many
// boxes as are wanted. They are dealt out by class, each class is thinned out on its own, and what
// is kept is put in order.
#pragma once

#include "kernels/cuda/bins.cuh"
#include "kernels/cuda/tile.cuh"

namespace keepbox::cuda {

/// Shared memory of the tail: arrays of `capacity`, of bins and of classes.
struct Tail {
  float4* boxes;     // by class
  uint64_t* keys;    // the same
  uint32_t* places;  // of chosen candidates in the image's list; later kept ones by bin
  uint32_t* kept;    // places in keys, in order
  Bins bins;
  uint32_t* end;     // of each class in keys
  uint32_t* filled;  // classes that have candidates
  uint32_t capacity;

  __device__ Tail(unsigned char* memory, uint32_t capacity_, uint32_t class_ids)
      : capacity(capacity_) {
    boxes = reinterpret_cast<float4*>(memory);
    keys = reinterpret_cast<uint64_t*>(boxes + capacity);
    places = reinterpret_cast<uint32_t*>(keys + capacity);
    kept = places + capacity;
    bins.counts = kept + capacity;
    end = bins.counts + Bins::kCount;
    filled = end + class_ids;
  }

  __device__ uint32_t begin_of(uint32_t c) const { return c == 0 ? 0 : end[c - 1]; }
};

constexpr size_t tail_shared_bytes(uint32_t capacity, uint32_t class_ids) {
  return capacity * (sizeof(float4) + sizeof(uint64_t) + 2 * sizeof(uint32_t)) +
         (Bins::kCount + 2 * size_t{class_ids}) * sizeof(uint32_t);
}

__device__ inline ByScore bins_of(const DevicePlan& plan) {
  return {plan.best_high, plan.bin_shift};
}

/// Where more boxes than this may be kept, the best of many candidates are not tried first.
inline constexpr uint32_t kManyKept = 512;
/// Where a class has more candidates and may keep more boxes than this, one block is too slow.
inline constexpr uint32_t kLargeClass = 256;
/// Classes that are more than a lane each and are worth the block's time, one after the other.
inline constexpr uint32_t kFewLong = 2;
/// Candidates that a tail looks through, in its capacities.
inline constexpr uint32_t kLooks = 16;

/// The tail's few shared numbers.
struct TailShared {
  uint32_t sums[kBlockWarps];
  TileShared tile;
  uint32_t chosen, last_bin;
  uint32_t filled, next;
  uint32_t large;  // the largest class, if it is too large for a warp
  uint32_t longs;  // classes that are more than a lane each; they come first
};

/// Lists the places of the best candidates, in whole bins. @return how many, at most capacity and
/// top_k; 0: the first bin is too full.
__device__ inline uint32_t choose(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                                  const uint64_t* keys, uint32_t count) {
  const uint32_t room = min(tail.capacity, plan.top_k);
  const ByScore bin_of = bins_of(plan);
  tail.bins.clear();
  if (threadIdx.x == 0) shared.chosen = shared.last_bin = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads)
    atomicAdd(&tail.bins.counts[bin_of(__ldcg(keys + i))], 1u);
  tail.bins.accumulate(shared.sums);
  // The first bin that no longer fits, if its predecessors do.
  for (uint32_t b = threadIdx.x; b < Bins::kCount; b += kBlockThreads) {
    const uint32_t next = b + 1 < Bins::kCount ? tail.bins.counts[b + 1] : count;
    if (tail.bins.counts[b] <= room && next > room) shared.last_bin = b;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads) {
    if (bin_of(__ldcg(keys + i)) >= shared.last_bin) continue;
    tail.places[atomicAdd(&shared.chosen, 1u)] = i;
  }
  __syncthreads();
  return shared.chosen;
}

/// Three sums in a word: of candidates, of classes that have any, and of those that are more than a
/// lane each, which take longest and are to begin first.
struct Sums {
  static constexpr uint32_t kClass = 1u << 12, kLong = 1u << 24;
  static_assert(kBlockKeys < kClass && kMaxClasses < kLong / kClass && kBlockKeys / kWarp < 256);

  static __device__ uint32_t of(uint32_t count) {
    return count + (count != 0 ? kClass : 0) + (count > kWarp ? kLong : 0);
  }
  static __device__ uint32_t candidates(uint32_t sums) { return sums % kClass; }
  static __device__ uint32_t classes(uint32_t sums) { return sums % kLong / kClass; }
  static __device__ uint32_t longs(uint32_t sums) { return sums / kLong; }
};

/// Turns counts of classes into starts, and lists the classes that have any. By one warp, between
/// barriers: most models have few classes.
__device__ inline void start_classes(const Tail& tail, TailShared& shared, uint32_t ids) {
  const uint32_t lane = threadIdx.x % kWarp, each = (ids + kWarp - 1) / kWarp;
  const uint32_t first = lane * each, end = min(first + each, ids);
  uint32_t sum = 0, largest = 0;
  for (uint32_t c = first; c < end; ++c) {
    sum += Sums::of(tail.end[c]);
    largest = max(largest, tail.end[c]);
  }
  const uint32_t upto = sum_upto(sum), all = __shfl_sync(kFull, upto, kWarp - 1);
  uint32_t before = upto - sum;
  for (uint32_t c = first; c < end; ++c) {
    const uint32_t count = tail.end[c], longs = Sums::longs(before);
    tail.end[c] = Sums::candidates(before);
    if (count > kWarp)
      tail.filled[longs] = c;
    else if (count > 0)
      tail.filled[Sums::longs(all) + Sums::classes(before) - longs] = c;
    before += Sums::of(count);
  }
  if (largest > kWarpBucket) atomicMax(&shared.large, largest);
  if (lane != 0) return;
  shared.filled = Sums::classes(all);
  shared.longs = Sums::longs(all);
}

/// Copies `count` candidates of the list, or those of tail.places, to the tail by class.
__device__ inline void deal(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                            const Boxes& list, uint32_t count, bool chosen) {
  const uint32_t ids = plan.rules.contract.class_agnostic ? 1 : plan.class_ids;
  uint64_t keys[kKeysEach];
  float4 boxes[kKeysEach];
#pragma unroll
  for (uint32_t i = 0; i < kKeysEach; ++i) {
    const uint32_t at = i * kBlockThreads + threadIdx.x;
    if (at >= count) continue;
    const uint32_t place = chosen ? tail.places[at] : at;
    keys[i] = __ldcg(list.keys + place);
    boxes[i] = __ldcg(list.boxes + place);
  }
  for (uint32_t c = threadIdx.x; c < ids; c += kBlockThreads) tail.end[c] = 0;
  if (threadIdx.x == 0) shared.next = shared.large = 0;
  tail.bins.clear();
  __syncthreads();
  const auto counter = [&](uint64_t key) {
    return tail.end + (plan.rules.contract.class_agnostic ? 0 : key_class(key));
  };
#pragma unroll
  for (uint32_t i = 0; i < kKeysEach; ++i)
    if (i * kBlockThreads + threadIdx.x < count) atomicAdd(counter(keys[i]), 1u);
  __syncthreads();
  if (threadIdx.x < kWarp) start_classes(tail, shared, ids);
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < kKeysEach; ++i) {
    if (i * kBlockThreads + threadIdx.x >= count) continue;
    const uint32_t to = atomicAdd(counter(keys[i]), 1u);  // which leaves the class's end
    tail.keys[to] = keys[i];
    tail.boxes[to] = boxes[i];
  }
  __syncthreads();
}

/// A class by the whole block.
template <bool kPlain>
__device__ void thin_large(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                           uint32_t first, uint32_t count) {
  const uint32_t alive = put_in_order(tail.keys + first, count, bins_of(plan), tail.bins,
                                      tail.places, tail.kept, shared.sums);
  static_assert(kTileWords * kTileSize <= Bins::kCount, "room for a tile's mask");
  thin_by_tiles<kPlain>(plan, {tail.keys, tail.boxes}, shared.tile, first, alive, tail.kept,
                        tail.bins.counts, shared.sums);
  tail.bins.clear();
  __syncthreads();
}

/// A class by a warp, if it is small enough. @return whether it is done.
template <bool kPlain>
__device__ bool thin_small(const DevicePlan& plan, const Dealt& dealt, uint32_t first,
                           uint32_t count, bool patient) {
  if (count <= kWarp) return thin_by_warp<kPlain, 1>(plan, dealt, first, count, patient);
  if (count <= 2 * kWarp) return thin_by_warp<kPlain, 2>(plan, dealt, first, count, patient);
  return count <= kWarpBucket && thin_by_warp<kPlain, 4>(plan, dealt, first, count, patient);
}

/// Classes side by side, the larger ones first; then by the whole block those that are too large
/// for a warp, and the few that keep one busy for long.
template <bool kPlain>
__device__ void thin(const DevicePlan& plan, const Tail& tail, TailShared& shared) {
  constexpr uint32_t kLeft = 1u << 31;
  const uint32_t filled = shared.filled;
  const auto first_of = [&](uint32_t c) { return tail.begin_of(c); };
  const auto count_of = [&](uint32_t c) { return tail.end[c] - first_of(c); };
  uint32_t next = 0;
  const auto take = [&] {  // ahead of its use, for it takes long
    if (threadIdx.x % kWarp == 0) next = kBlockWarps + atomicAdd(&shared.next, 1u);
  };
  for (uint32_t i = threadIdx.x / kWarp; i < filled; i = __shfl_sync(kFull, next, 0)) {
    take();
    const uint32_t c = tail.filled[i];
    const bool done = thin_small<kPlain>(plan, {tail.keys, tail.boxes}, first_of(c), count_of(c),
                                         shared.longs > kFewLong);
    __syncwarp();  // all have read it
    if (!done && threadIdx.x % kWarp == 0) tail.filled[i] = c | kLeft;
  }
  __syncthreads();
  if (shared.longs > kFewLong && shared.large == 0) return;
  for (uint32_t i = 0; i < shared.longs; ++i) {
    const uint32_t c = tail.filled[i] & ~kLeft;
    if (c != tail.filled[i]) thin_large<kPlain>(plan, tail, shared, first_of(c), count_of(c));
  }
}

}  // namespace keepbox::cuda
