// SPDX-License-Identifier: LGPL-2.1-or-later
// Exact suppression of some hundred candidates by a block: bit masks hold the better candidates
// that overlap each one, and rounds over their words determine the kept ones.
#pragma once

#include "kernels/cuda/device/bins.cuh"
#include "kernels/cuda/device/resolve.cuh"
#include "kernels/cuda/device/shape.cuh"

namespace keepbox::cuda {

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

}  // namespace keepbox::cuda
