// SPDX-License-Identifier: LGPL-2.1-or-later
// End of a frame: sorts kept boxes, maps them to the frame and writes them to the host.
#pragma once

#include "kernels/cuda/device/boxes.cuh"

namespace keepbox::cuda {

/// Number of boxes that means "too many for this kernel".
inline constexpr uint32_t kTooMany = ~0u;

/// Maximum number of boxes sorted at once.
inline constexpr uint32_t kFinished = 512;
inline constexpr uint32_t kFrameBins = 2 * kFrameThreads;

using FrameBins = Bins<kFrameThreads, kFrameBins>;

__device__ inline ByScore<kFrameBins> frame_bins_of(const DevicePlan& plan) {
  return {plan.best_high, plan.octaves};
}

struct FinishShared {
  uint64_t keys[kFinished];
  float4 boxes[kFinished];
  uint32_t indices[kFinished];  // in the lists
  uint16_t places[kFinished], order[kFinished];
  union {
    uint32_t bins[kFrameBins];
    struct {  // few boxes: upper halves of keys, and the number of keys per rank
      alignas(16) uint32_t highs[kFrameThreads];
      uint32_t rank_counts[kFrameThreads];
    };
  };
  uint32_t chosen, last_bin;
  uint32_t ends[kWarp];  // per group, and beyond: number of boxes up to its end
  EmitShared<kFrameThreads> emit;
};

/// Boxes of an image in one list or in groups.
struct KeptLists {
  Boxes boxes;
  uint32_t count;   // total
  uint32_t groups;  // 0: one list
  size_t capacity;  // entries per group

  /// Returns the index of a box in memory.
  __device__ size_t place(const FinishShared& shared, uint32_t number) const {
    if (groups == 0) return number;
    uint32_t group = 0;  // the first one that ends after the number
#pragma unroll
    for (uint32_t step = kWarp / 2; step > 0; step /= 2)
      group += shared.ends[group + step - 1] <= number ? step : 0;
    return group * capacity + (number - (group == 0 ? 0 : shared.ends[group - 1]));
  }

  /// Calls `visit` with the index in memory and the key of each box; a warp handles a group at a
  /// time, or a part of the list. Called by all threads.
  template <class Visit>
  __device__ void each_key(const FinishShared& shared, Visit visit) const {
    constexpr uint32_t kAtOnce = 4, kPart = kAtOnce * kWarp;
    const uint32_t parts = groups != 0 ? groups : (count + kPart - 1) / kPart;
#pragma unroll 1
    for (uint32_t part = warp_id(); part < parts; part += kFrameWarps) {
      uint32_t index = part * kPart, end = min(index + kPart, count);
      if (groups != 0) {
        index = part * static_cast<uint32_t>(capacity);
        end = index + shared.ends[part] - (part == 0 ? 0 : shared.ends[part - 1]);
      }
#pragma unroll 1
      for (index += lane_id(); index < end; index += kPart) {
        uint64_t keys[kAtOnce];
#pragma unroll
        for (uint32_t i = 0; i < kAtOnce; ++i)
          keys[i] = index + i * kWarp < end ? __ldcg(boxes.keys + index + i * kWarp) : kNoKey;
#pragma unroll
        for (uint32_t i = 0; i < kAtOnce; ++i)
          if (index + i * kWarp < end) visit(index + i * kWarp, keys[i]);
      }
    }
  }
};

/// Collects the kept boxes of all non-empty groups.
__device__ inline KeptLists collect_kept(const Control& control, const Boxes& kept,
                                         const Buckets& buckets, uint32_t filled,
                                         FinishShared& shared) {
  const uint32_t groups = buckets.groups();
  if (warp_id() == 0) {
    const bool has = lane_id() < groups && (filled >> lane_id() & 1) != 0;
    shared.ends[lane_id()] = sum_upto(has ? __ldcg(control.kept + lane_id()) : 0);
  }
  __syncthreads();
  return {kept, shared.ends[kWarp - 1], groups, buckets.group_capacity()};
}

/// Finds the first bin after the `wanted` best boxes that fit, from the number of boxes per bin,
/// and clears the bins. @param wanted not 0.
__device__ inline void find_last_bin(uint32_t count, uint32_t wanted, FinishShared& shared) {
  const FrameBins bins{shared.bins};
  bins.accumulate(shared.emit.sums);
  for (uint32_t b = threadIdx.x; b < kFrameBins; b += kFrameThreads) {
    const uint32_t next = b + 1 < kFrameBins ? shared.bins[b + 1] : count;
    if (shared.bins[b] < wanted && next >= wanted) shared.last_bin = next <= kFinished ? b + 1 : b;
  }
  __syncthreads();
  bins.clear();
  __syncthreads();
}

/// Copies the boxes, or those of the best whole bins if there are too many. @return their number.
__device__ inline uint32_t choose_best(const DevicePlan& plan, const KeptLists& kept_lists,
                                       FinishShared& shared) {
  const auto bin_of = frame_bins_of(plan);
  const bool all = kept_lists.count <= kFinished;
  if (threadIdx.x == 0) {
    shared.chosen = 0;
    shared.last_bin = kFrameBins;
  }
  FrameBins{shared.bins}.clear();
  __syncthreads();
  // One loop for counting and choosing, because fetching the instructions of another takes longer.
#pragma unroll 1
  for (bool counts = !all;; counts = false) {
    kept_lists.each_key(shared, [&](uint32_t index, uint64_t key) {
      const uint32_t bin = bin_of(key);
      if (counts) atomicAdd(&shared.bins[bin], 1u);
      if (counts || bin >= shared.last_bin) return;
      const uint32_t at = atomicAdd(&shared.chosen, 1u);
      shared.keys[at] = key;
      shared.indices[at] = index;
    });
    if (!counts) break;
    find_last_bin(kept_lists.count, max(min(plan.limit(), kFinished), 1u), shared);
  }
  __syncthreads();
  const uint32_t chosen = shared.chosen;
  for (uint32_t i = threadIdx.x; i < chosen; i += kFrameThreads)
    shared.boxes[i] = __ldcg(kept_lists.boxes.boxes + shared.indices[i]);
  __syncthreads();
  return chosen;
}

/// True if the box of that rank is within the limit of its class.
__device__ inline bool within_class_limit(const DevicePlan& plan, const FinishShared& shared,
                                          uint32_t rank) {
  const uint32_t own = key_class(shared.keys[shared.order[rank]]);
  uint32_t before = 0;
  for (uint32_t r = 0; r < rank; ++r)
    before += key_class(shared.keys[shared.order[r]]) == own ? 1 : 0;
  return before < plan.rules.class_limit;
}

/// Returns the number of smaller keys, compared by upper halves and only if equal by whole keys.
/// Called by all threads.
__device__ inline uint32_t rank_of(FinishShared& shared, bool there, uint64_t key, uint32_t count) {
  const auto high = static_cast<uint32_t>(key >> 32);
  shared.highs[threadIdx.x] = high;  // that of kNoKey is the maximum
  shared.keys[threadIdx.x] = key;
  shared.rank_counts[threadIdx.x] = 0;
  __syncthreads();
  uint4 ranks{};
  const auto* fours = reinterpret_cast<const uint4*>(shared.highs);
  if (warp_id() * kWarp < count) {
#pragma unroll 4
    for (uint32_t i = 0; i < (count + 3) / 4; ++i) {
      const uint4 four = fours[i];
      ranks.x += four.x < high ? 1 : 0;
      ranks.y += four.y < high ? 1 : 0;
      ranks.z += four.z < high ? 1 : 0;
      ranks.w += four.w < high ? 1 : 0;
    }
  }
  uint32_t rank = (ranks.x + ranks.y) + (ranks.z + ranks.w);
  const bool tied = there && atomicAdd(&shared.rank_counts[rank], 1u) != 0;
  if (__syncthreads_or(tied) == 0) return rank;
  for (uint32_t i = 0; i < count; ++i)
    if (static_cast<uint32_t>(shared.keys[i] >> 32) == high && shared.keys[i] < key) ++rank;
  return rank;
}

/// Handles at most one box per thread, without class limits: each thread finds its box's rank and
/// moves it there.
__device__ inline uint32_t finish_few(const DevicePlan& plan, const KeptLists& kept_lists,
                                      FinishShared& shared, const BoxOutput& out, uint32_t& empty) {
  const bool there = threadIdx.x < kept_lists.count;
  const size_t place = there ? kept_lists.place(shared, threadIdx.x) : 0;
  const uint64_t key = there ? __ldcg(kept_lists.boxes.keys + place) : kNoKey;
  const float4 box = there ? __ldcg(kept_lists.boxes.boxes + place) : float4{};
  const uint32_t rank = rank_of(shared, there, key, kept_lists.count);
  const bool wanted = there && rank < plan.limit();
  Detection detection;
  if (wanted) {
    detection = emitted(candidate(plan, key, box), letterbox_of(plan), plan.rules, plan.tables);
    write(out, rank, detection);
  }
  empty = __syncthreads_count(wanted && is_empty(detection.box));
  return min(kept_lists.count, plan.limit());
}

/// Handles other numbers of boxes that fit, by bins.
__device__ inline uint32_t finish_many(const DevicePlan& plan, const KeptLists& kept_lists,
                                       FinishShared& shared, const BoxOutput& out,
                                       uint32_t& empty) {
  const uint32_t limit = plan.limit();
  if (kept_lists.count > kFinished && limit > kFinished) return kTooMany;
  const uint32_t used = choose_best(plan, kept_lists, shared);
  if (used < min(kept_lists.count, limit)) return kTooMany;
  put_in_order<kFinished>(shared.keys, used, frame_bins_of(plan), FrameBins{shared.bins},
                          shared.places, shared.order, shared.emit.sums);
  const bool by_class = plan.rules.limits_classes();
  uint32_t written = 0;
  empty = 0;
  for (uint32_t base = 0; base < min(used, limit); base += kFrameThreads) {
    const uint32_t rank = base + threadIdx.x;
    const bool there =
        rank < min(used, limit) && (!by_class || within_class_limit(plan, shared, rank));
    const uint32_t place = there ? shared.order[rank] : 0;
    written += emit(plan, shared.emit, there, shared.keys[place], shared.boxes[place],
                    out.from(written), empty);
  }
  return written;
}

/// Sorts kept boxes and writes out the best ones up to the limit. Called by all threads.
/// @return their number, or kTooMany if there are too many.
__device__ inline uint32_t finish(const DevicePlan& plan, const KeptLists& kept_lists,
                                  FinishShared& shared, const BoxOutput& out, uint32_t& empty) {
  return kept_lists.count <= kFrameThreads && !plan.rules.limits_classes()
             ? finish_few(plan, kept_lists, shared, out, empty)
             : finish_many(plan, kept_lists, shared, out, empty);
}

}  // namespace keepbox::cuda
