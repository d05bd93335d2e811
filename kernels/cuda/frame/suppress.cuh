// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression within the frame kernel: by one warp, or by a block with masks.
#pragma once

#include "kernels/cuda/device/boxes.cuh"
#include "kernels/cuda/device/warp.cuh"

namespace keepbox::cuda {

// Exact suppression of some hundred candidates by a block: bit masks hold the better candidates
// that overlap each one, and rounds over their words determine the kept ones.

/// Rows of candidates that a block handles at once, with one lane each, and the words of their
/// masks; a list of kBucketCapacity fits.
inline constexpr uint32_t kMaxRows = 16, kMaxMasks = 96;
static_assert(warp_words(kBucketCapacity) <= kMaxRows &&
              warp_words(kBucketCapacity) * warp_words(kBucketCapacity) <= kMaxMasks);
inline constexpr uint32_t kSlots = kMaxRows * kWarp;
inline constexpr uint32_t kRowsEach = kMaxRows / kFrameWarps;  // per warp

/// Row of a list; each list begins with a new row.
struct Row {
  uint16_t list, first, size;  // index of the list, its first row and its number of rows
  uint16_t mask;               // first mask of this row
  uint32_t count;              // number of candidates
};

/// Shape in shared memory, which holds plain bytes.
template <BoxGeometry Geometry>
struct alignas(16) Slot {
  using Shape = typename Geometry::Shape;
  alignas(16) unsigned char bytes[(sizeof(Shape) + 15) / 16 * 16];

  __device__ void put(const Shape& shape) { memcpy(bytes, &shape, sizeof shape); }
  __device__ Shape shape() const {
    Shape out;
    memcpy(&out, bytes, sizeof out);
    return out;
  }
};

template <BoxGeometry Geometry>
struct MaskShared {
  uint64_t keys[kSlots];  // kNoKey if there is none
  float areas[kSlots];
  Slot<Geometry> slots[kSlots];
  Row rows[kMaxRows];
  uint8_t task_row[kMaxMasks], task_column[kMaxMasks];  // rows compared by each mask
  uint32_t row_count, task_count, next;
  uint32_t masks[kMaxMasks][kWarp];  // per row: one word for each row of its list
  uint32_t kept[kMaxRows], open[kMaxRows];
};

/// Plans rows for as many lists from `first` as fit. Called by all threads after a barrier; ends
/// with a barrier. @param counts of candidates per list, limited to `capacity`.
template <BoxGeometry Geometry>
__device__ void plan_rows(const uint32_t* counts, uint32_t capacity, uint32_t first,
                          MaskShared<Geometry>& shared) {
  if (warp_id() == 0) {
    const uint32_t lane = lane_id();
    const bool asked = lane >= first && lane < kGroupBuckets;
    const uint32_t count = asked && counts[lane] <= capacity ? counts[lane] : 0;
    const uint32_t size = warp_words(count);
    const uint32_t rows = sum_upto(size), masks = sum_upto(size * size);
    const bool fits = asked && rows <= kMaxRows && masks <= kMaxMasks;
    const uint32_t planned = __popc(__ballot_sync(kFull, fits));
    if (asked && lane + 1 == first + planned) {
      shared.row_count = rows;
      shared.task_count = masks;
      shared.next = first + planned;
    }
#pragma unroll 1
    for (uint32_t r = 0; fits && r < size; ++r)
      shared.rows[rows - size + r] = {
          static_cast<uint16_t>(lane), static_cast<uint16_t>(rows - size),
          static_cast<uint16_t>(size), static_cast<uint16_t>(masks - size * size + r * size),
          min(count - r * kWarp, kWarp)};
  }
  __syncthreads();
  if (threadIdx.x >= shared.row_count) return;
  const Row row = shared.rows[threadIdx.x];
#pragma unroll 1
  for (uint32_t c = 0; c < row.size; ++c) {
    shared.task_row[row.mask + c] = static_cast<uint8_t>(threadIdx.x);
    shared.task_column[row.mask + c] = static_cast<uint8_t>(row.first + c);
  }
}

/// Columns compared at once.
inline constexpr uint32_t kOctet = 8, kOctets = kWarp / kOctet;

/// Returns the bits of those of eight candidates from `first` that are better and overlap.
template <BoxGeometry Geometry>
__device__ uint32_t compare_octet(const DevicePlan& plan, const MaskShared<Geometry>& shared,
                                  uint32_t own, uint32_t first) {
  const uint64_t key = shared.keys[own];
  const auto shape = shared.slots[own].shape();
  const float area = shared.areas[own];
  const uint32_t class_bits = plan.rules.contract.class_agnostic ? 0 : kMaxClasses - 1;
  uint32_t over = 0, unsure = 0;
#pragma unroll 4
  for (uint32_t j = 0; j < kOctet; ++j) {
    const uint64_t other = shared.keys[first + j];
    const bool concerns = (other < key) & ((static_cast<uint32_t>(other ^ key) & class_bits) == 0);
    const Guess guess = Geometry::guess(plan.rules, shared.slots[first + j].shape(),
                                        shared.areas[first + j], shape, area);
    over |= (concerns & guess.over ? 1u : 0u) << j;
    unsure |= (concerns & !guess.sure ? 1u : 0u) << j;
  }
#pragma unroll 1
  for (; unsure != 0; unsure &= unsure - 1) {
    const uint32_t j = __ffs(unsure) - 1;
    const bool hit = Geometry::decide(plan.rules, shared.slots[first + j].shape(),
                                      shared.areas[first + j], shape, area);
    over = (over & ~(1u << j)) | (hit ? 1u << j : 0);
  }
  return over;
}

/// Computes all masks, which are cleared: a warp handles one octet of columns at a time.
template <BoxGeometry Geometry>
__device__ void compare_rows(const DevicePlan& plan, MaskShared<Geometry>& shared) {
  const uint32_t tasks = shared.task_count;
#pragma unroll 1
  for (uint32_t task = warp_id(); task < tasks * kOctets; task += kFrameWarps) {
    const uint32_t mask = task % tasks, octet = task / tasks;
    const uint32_t row = shared.task_row[mask], column = shared.task_column[mask];
    if (octet * kOctet >= shared.rows[column].count) continue;
    const uint32_t bits =
        compare_octet(plan, shared, row * kWarp + lane_id(), column * kWarp + octet * kOctet);
    reinterpret_cast<uint8_t*>(&shared.masks[mask][lane_id()])[octet] = static_cast<uint8_t>(bits);
  }
}

/// Settles candidates of a row as far as the results of the list's other rows allow.
template <BoxGeometry Geometry>
__device__ void settle_row(const MaskShared<Geometry>& shared, uint32_t number, bool& open,
                           bool& kept) {
  const Row row = shared.rows[number];
  bool suppressed = false, waits = false;
  uint32_t own = 0;
#pragma unroll 2
  for (uint32_t c = 0; c < row.size; ++c) {
    const uint32_t mask = shared.masks[row.mask + c][lane_id()];
    if (row.first + c == number) {
      own = mask;
    } else {
      suppressed |= (mask & shared.kept[row.first + c]) != 0;
      waits |= (mask & shared.open[row.first + c]) != 0;
    }
  }
  settle_word(own, suppressed, waits, open, kept);
}

/// Returns the kept candidates of a warp, one bit per row. Starts after a barrier and ends with a
/// barrier.
template <BoxGeometry Geometry>
__device__ uint32_t resolve_rows(MaskShared<Geometry>& shared) {
  bool open[kRowsEach] = {}, kept[kRowsEach] = {};
#pragma unroll
  for (uint32_t e = 0; e < kRowsEach; ++e) {
    const uint32_t number = warp_id() + e * kFrameWarps;
    if (number >= shared.row_count) continue;
    const Row row = shared.rows[number];
    open[e] = lane_id() < row.count;
    if (row.size == 1)
      settle_word(shared.masks[row.mask][lane_id()], false, false, open[e], kept[e]);
  }
  for (;;) {
    uint32_t waits = 0;
#pragma unroll
    for (uint32_t e = 0; e < kRowsEach; ++e) {
      const uint32_t open_bits = __ballot_sync(kFull, open[e]);
      shared.kept[warp_id() + e * kFrameWarps] = __ballot_sync(kFull, kept[e]);
      shared.open[warp_id() + e * kFrameWarps] = open_bits;  // equal in all lanes
      waits |= open_bits;
    }
    if (__syncthreads_or(waits != 0) == 0) break;
#pragma unroll
    for (uint32_t e = 0; e < kRowsEach; ++e) {
      const uint32_t number = warp_id() + e * kFrameWarps;
      if (shared.open[number] != 0) settle_row(shared, number, open[e], kept[e]);
    }
    __syncthreads();
  }
  uint32_t out = 0;
#pragma unroll
  for (uint32_t e = 0; e < kRowsEach; ++e) out |= (kept[e] ? 1u : 0u) << e;
  return out;
}

// Greedy suppression of few candidates by a warp, without a sort: keeps the best candidate and
// drops those that it overlaps, until none remains. Efficient if few boxes are kept.

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

// Suppression of an image's buckets by the blocks that finish their scan last: a warp handles a
// bucket, a block a group of buckets, and all warps together the buckets that take a warp too long.
//
// The last block to finish its scan never waits for another one. Blocks that wait for it give up
// after some time, and then it does everything: frames complete however few of their blocks run at
// a time.

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
