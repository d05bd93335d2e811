// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of all open candidates at once: those that are neither kept nor dropped yet. Each
// lists the better open ones that overlap it, and then waits until they are decided.
#pragma once

#include <cooperative_groups.h>

#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

/// Maximum number of better candidates in a list. Those in a crowd have more, until others suppress
/// some of the crowd.
inline constexpr uint32_t kMaxConflicts = 32;
/// Maximum number of candidates for which there are lists.
inline constexpr uint32_t kMaxListing = 1u << 16;
/// Maximum number of listed pairs of near groups, as a mean per group.
inline constexpr uint32_t kMaxNear = 128;

/// State of a candidate.
enum Fate : uint8_t { kOpen, kKept, kDropped };

/// Scratch space for lists; none of it has to be cleared.
struct Conflicts {
  uint32_t* full;        // non-zero if there are too many conflicts or pairs to list
  uint32_t* near_count;  // pairs of near groups
  uint32_t* near;        // both groups of each pair, packed
  uint32_t* open;        // by group of nms.cuh: a bit for each open candidate
  uint32_t* kept;        // by word of ranks: a bit for each kept one
  uint32_t* counts;      // by rank: conflicts with better ones
  uint8_t* fates;        // by rank
  uint32_t* lists;       // [conflict][rank]: the rank of the better one
  uint32_t stride;

  __host__ __device__ Conflicts(uint32_t* words, uint32_t count)
      : full(words),
        near_count(full + 1),
        near(near_count + 1),
        open(near + max_near(count)),
        kept(open + warp_words(count)),
        counts(kept + warp_words(count)),
        fates(reinterpret_cast<uint8_t*>(counts + count)),
        lists(counts + count + (count + 3) / 4),
        stride(count) {}

  __host__ __device__ static constexpr uint32_t max_near(uint32_t count) {
    return kMaxNear * warp_words(count);
  }
  static constexpr size_t words(uint32_t count) {
    return 2 + max_near(count) + size_t{2} * warp_words(count) + count + (count + 3) / 4 +
           size_t{kMaxConflicts} * count;
  }
};

/// Determines the open candidates of each group, from rank `first` on, and the bounds of these.
/// Step 1, by all warps.
template <BoxGeometry Geometry>
__device__ void list_open(const DevicePlan& plan, const SpatialBins& spatial,
                          const Conflicts& conflicts, const uint32_t* dead, uint32_t count,
                          uint32_t first) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread == 0) *conflicts.full = *conflicts.near_count = 0;
  for (uint32_t i = thread; i < count; i += gridDim.x * blockDim.x) {
    conflicts.counts[i] = 0;
    conflicts.fates[i] = kOpen;
  }
  const uint32_t warps = gridDim.x * blockDim.x / kWarp;
  for (uint32_t group = thread / kWarp; group < warp_words(count); group += warps) {
    const uint32_t place = group * kWarp + lane_id();
    const uint32_t rank = place < count ? spatial.rank(place) : 0;
    const bool open = place < count && rank >= first && !is_dead(dead, rank);
    bound_group<Geometry>(plan, spatial, group, min(place, count - 1), open);
    const uint32_t bits = __ballot_sync(kFull, open);
    if (lane_id() == 0) conflicts.open[group] = bits;
  }
}

/// Adds a conflict to the list of the worse one. @return false if the list is full.
__device__ inline bool list_conflict(const Conflicts& conflicts, uint32_t a, uint32_t b) {
  const uint32_t worse = max(a, b);
  const uint32_t at = atomicAdd(conflicts.counts + worse, 1u);
  if (at < kMaxConflicts) conflicts.lists[size_t{at} * conflicts.stride + worse] = min(a, b);
  return at < kMaxConflicts;
}

/// Lists pairs of groups whose open candidates may overlap: step 2, after a barrier, by all warps.
__device__ inline void list_near(const DevicePlan& plan, const SpatialBins& spatial,
                                 const Conflicts& conflicts, uint32_t count) {
  const bool all = !disjoint_never_overlap(plan.rules);
  const uint32_t groups = warp_words(count), columns = warp_words(groups);
  const uint32_t warps = gridDim.x * kNmsWarps;
  for (uint32_t task = blockIdx.x * kNmsWarps + warp_id(); task < groups * columns; task += warps) {
    const uint32_t a = task / columns, b = task % columns * kWarp + lane_id();
    const uint32_t other = min(b, groups - 1);
    const float4 bounds = __ldcg(spatial.bounds + a), others = __ldcg(spatial.bounds + other);
    const bool near = b >= a && b < groups && __ldcg(conflicts.open + a) != 0 &&
                      __ldcg(conflicts.open + other) != 0 &&
                      (all || touch(to_box(bounds), to_box(others)));
    const uint32_t bits = __ballot_sync(kFull, near);
    if (bits == 0) continue;
    uint32_t first = 0;
    if (lane_id() == 0) first = atomicAdd(conflicts.near_count, __popc(bits));
    const uint32_t at = __shfl_sync(kFull, first, 0) + __popc(bits & lanes_before());
    if (near && at < Conflicts::max_near(count)) conflicts.near[at] = a << 16 | b;
  }
}

/// Returns the bits of those candidates of group `a` that overlap a shape, of those whose guess is
/// not sure. @param shape_at returns a candidate's shape by its position.
template <BoxGeometry Geometry, class ShapeAt>
__device__ uint32_t decide_unsure(const DevicePlan& plan, ShapeAt shape_at, uint32_t a,
                                  uint32_t unsure, const typename Geometry::Shape& shape,
                                  float area) {
  uint32_t over = 0;
  for (uint32_t rest = unsure; rest != 0; rest &= rest - 1) {
    const auto other = shape_at(a * kWarp + __ffs(static_cast<int>(rest)) - 1);
    if (Geometry::decide(plan.rules, other, area_of<Geometry>(plan, other), shape, area))
      over |= rest & -rest;
  }
  return over;
}

/// Compares the open candidates of two groups: those of `a` one after the other with one of `b` per
/// lane. @return false if a list is full.
template <BoxGeometry Geometry>
__device__ bool compare_groups(const DevicePlan& plan, const SpatialBins& spatial,
                               const Conflicts& conflicts, uint32_t a, uint32_t b, uint32_t count) {
  const auto shape_at = [&](uint32_t place) {
    return shape_of<Geometry>(plan, spatial.boxes[place], spatial.rank_and_key[place]);
  };
  const auto row_shape = shape_at(min(a * kWarp + lane_id(), count - 1));
  const float row_area = area_of<Geometry>(plan, row_shape);
  const bool may =
      !disjoint_never_overlap(plan.rules) ||
      touch(Geometry::bounds(row_shape, plan.rules), to_box(__ldcg(spatial.bounds + b)));
  const bool open = (__ldcg(conflicts.open + b) >> lane_id() & 1) != 0;
  const uint32_t own = b * kWarp + (open ? lane_id() : 0);
  const uint64_t rank_and_key = spatial.rank_and_key[own];
  const auto shape = shape_at(own);
  const float area = area_of<Geometry>(plan, shape);
  uint32_t over = 0, unsure = 0;  // a bit for each candidate of `a`
  for (uint32_t rest = __ldcg(conflicts.open + a) & __ballot_sync(kFull, may); rest != 0;
       rest &= rest - 1) {
    const uint32_t bit = rest & -rest, lane = __ffs(static_cast<int>(rest)) - 1;
    const bool concerns =
        same_class(plan.rules.contract, spatial.rank_and_key[a * kWarp + lane], rank_and_key);
    const Guess guess = Geometry::guess(plan.rules, shape_at(a * kWarp + lane),
                                        __shfl_sync(kFull, row_area, lane), shape, area);
    over |= concerns & guess.over & guess.sure ? bit : 0;
    unsure |= concerns & !guess.sure ? bit : 0;
  }
  const uint32_t asked = open ? (a == b ? lanes_before() : kFull) : 0;
  over |= decide_unsure<Geometry>(plan, shape_at, a, unsure & asked, shape, area);
  bool fits = true;
  for (uint32_t rest = over & asked; rest != 0; rest &= rest - 1)
    fits &= list_conflict(conflicts, spatial.rank(a * kWarp + __ffs(static_cast<int>(rest)) - 1),
                          static_cast<uint32_t>(rank_and_key >> 32));
  return fits;
}

/// Lists all conflicts: step 3, after a barrier, by all warps.
template <BoxGeometry Geometry>
__device__ void list_conflicts(const DevicePlan& plan, const SpatialBins& spatial,
                               const Conflicts& conflicts, uint32_t count) {
  const uint32_t pairs = __ldcg(conflicts.near_count), warps = gridDim.x * kNmsWarps;
  bool fits = pairs <= Conflicts::max_near(count);
  for (uint32_t at = blockIdx.x + warp_id() * gridDim.x; fits && at < pairs; at += warps) {
    const uint32_t pair = __ldcg(conflicts.near + at);
    fits = compare_groups<Geometry>(plan, spatial, conflicts, pair >> 16, pair & 0xffff, count);
    fits = __all_sync(kFull, fits && __ldcg(conflicts.full) == 0);
  }
  if (!fits) *conflicts.full = 1;
}

/// Returns the state of a candidate, which other threads may be changing.
__device__ inline Fate fate_of(const Conflicts& conflicts, uint32_t rank) {
  return static_cast<Fate>(*const_cast<const volatile uint8_t*>(conflicts.fates + rank));
}

/// Decides a candidate as soon as possible from those that it lists.
__device__ inline Fate decide(const Conflicts& conflicts, uint32_t rank, uint32_t listed) {
  constexpr uint32_t kAtOnce = 4;  // reads that do not wait for each other
  bool waits = false;
  for (uint32_t first = 0; first < listed; first += kAtOnce) {
    bool dropped = false;
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const size_t at = min(first + i, listed - 1);
      const Fate better = fate_of(conflicts, conflicts.lists[at * conflicts.stride + rank]);
      dropped |= better == kKept;
      waits |= better == kOpen;
    }
    if (dropped) return kDropped;
  }
  return waits ? kOpen : kKept;
}

/// Decides all open candidates from rank `first` on: step 4, after a barrier, by all threads of
/// blocks that run at the same time. Threads take them in order, so that the best open one never
/// waits.
__device__ inline void decide_all(const Conflicts& conflicts, const uint32_t* dead, uint32_t count,
                                  uint32_t first) {
  const uint32_t threads = gridDim.x * blockDim.x;
  for (uint32_t base = first; base < count; base += threads) {
    const uint32_t rank = base + blockIdx.x * blockDim.x + threadIdx.x;
    if (rank - lane_id() >= count) return;
    bool open = rank < count && !is_dead(dead, rank);
    const uint32_t listed = open ? __ldcg(conflicts.counts + rank) : 0;
    bool kept = false;
    while (__any_sync(kFull, open)) {
      const Fate fate = open ? decide(conflicts, rank, listed) : kOpen;
      if (fate == kOpen) continue;
      *const_cast<volatile uint8_t*>(conflicts.fates + rank) = fate;
      kept = fate == kKept;
      open = false;
    }
    const uint32_t bits = __ballot_sync(kFull, kept);
    if (lane_id() == 0) conflicts.kept[rank / kWarp] = bits;
  }
}

/// Decides all open candidates from rank `first` on. Called by all blocks of a cooperative launch.
/// @return false if there are too many conflicts; nothing is decided then.
template <BoxGeometry Geometry>
__device__ bool decide_rest(const DevicePlan& plan, const SpatialBins& spatial,
                            const Conflicts& conflicts, const uint32_t* dead, uint32_t count,
                            uint32_t first) {
  const auto grid = cooperative_groups::this_grid();
  list_open<Geometry>(plan, spatial, conflicts, dead, count, first);
  grid.sync();
  list_near(plan, spatial, conflicts, count);
  grid.sync();
  list_conflicts<Geometry>(plan, spatial, conflicts, count);
  grid.sync();
  if (__ldcg(conflicts.full) != 0) return false;
  decide_all(conflicts, dead, count, first);
  grid.sync();
  return true;
}

}  // namespace keepbox::cuda
