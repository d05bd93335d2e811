// SPDX-License-Identifier: LGPL-2.1-or-later
// Sorts many candidates: blocks sort runs of them, then each key finds its rank by a search in the
// other runs.
#pragma once

#include "kernels/cuda/device/boxes.cuh"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kNoPlace = ~0u;
using RunBins = Bins<kNmsThreads, kRun>;

/// Moves the class in front of the score; the inverse is score_first().
__device__ inline uint64_t class_first(uint64_t key) {
  return key << (64 - kClassBits) | key >> kClassBits;
}
__device__ inline uint64_t score_first(uint64_t key) {
  return key << kClassBits | key >> (64 - kClassBits);
}

/// Bins of keys with the class first: one bin per class.
struct ByClass {
  __device__ uint32_t operator()(uint64_t key) const {
    return static_cast<uint32_t>(key >> (64 - kClassBits));
  }
};
static_assert(kMaxClasses <= RunBins::kCount);

/// Memory of a block that sorts a run.
struct SortShared {
  uint64_t keys[kRun];
  uint32_t places[kRun], order[kRun];
  uint32_t bins[RunBins::kCount];
};

/// Sorts a run of keys, and pads it. Called by all threads of a block.
__device__ inline void sort_run(const SortArgs& args, uint32_t run, SortShared& shared,
                                uint32_t (&sums)[kNmsWarps]) {
  const RunBins bins{shared.bins};
  const uint32_t first = run * kRun, count = min(kRun, args.count - first);
  bins.clear();
  for (uint32_t i = threadIdx.x; i < count; i += kNmsThreads) {
    const uint64_t key = args.from.keys[first + i];
    shared.keys[i] = args.by_class ? class_first(key) : key;
  }
  __syncthreads();
  if (args.by_class)
    put_in_order<kRun>(shared.keys, count, ByClass(), bins, shared.places, shared.order, sums);
  else
    put_in_order<kRun>(shared.keys, count, ByScore<kRun>{args.best_high, args.octaves}, bins,
                       shared.places, shared.order, sums);
  for (uint32_t i = threadIdx.x; i < kRun; i += kNmsThreads) {
    args.runs[first + i] = i < count ? shared.keys[shared.order[i]] : kNoKey;
    args.run_index[first + i] = i < count ? first + shared.order[i] : kNoPlace;
  }
}

/// Returns the number of smaller keys in a run.
__device__ inline uint32_t less_in_run(const uint64_t* run, uint64_t key) {
  uint32_t at = 0;
  for (uint32_t step = kRun / 2; step > 0; step /= 2)
    if (__ldcg(run + at + step - 1) < key) at += step;
  return at + (__ldcg(run + at) < key ? 1 : 0);
}

/// Moves the candidate at a position of the runs to its rank.
__device__ inline void place_one(const SortArgs& args, uint32_t runs, uint32_t at) {
  if (at >= runs * kRun || args.run_index[at] == kNoPlace) return;
  const uint64_t key = args.runs[at];
  uint32_t rank = at % kRun;
  for (uint32_t run = 0; run < runs; ++run)
    if (run != at / kRun) rank += less_in_run(args.runs + run * kRun, key);
  if (rank >= args.limit) return;
  const uint32_t from = args.run_index[at];
  args.to.keys[rank] = args.by_class ? score_first(key) : key;
  args.to.boxes[rank] = args.from.boxes[from];
  if (args.origin != nullptr) args.origin[rank] = from;
}

}  // namespace keepbox::cuda
