// SPDX-License-Identifier: LGPL-2.1-or-later
// A block's candidates on their way to the image's list: gathered in shared memory, so that a block
// and not an anchor adds to the shared counters.
#pragma once

#include "kernels/cuda/source.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kStaged = 2 * kFrameThreads;

/// All codings, out of the loops.
__device__ __noinline__ inline Box decoded_box(const DevicePlan& plan, uint32_t anchor,
                                               float4 raw) {
  return decode_box(plan.box_rules, plan.priors, anchor, {raw.x, raw.y, raw.z, raw.w});
}

struct Stage {
  uint64_t keys[kStaged];
  float4 boxes[kStaged];
  uint32_t count, above_threshold, not_finite, base;
  uint32_t flushed, all_above;  // of earlier passes, too

  __device__ void begin() {
    reset();
    if (threadIdx.x == 0) flushed = all_above = 0;
  }

  __device__ void reset() {
    if (threadIdx.x == 0) count = above_threshold = not_finite = 0;
  }

  /// One anchor: threshold, box, filter, as the reference's Collector::take().
  template <class Load>
  __device__ void take(const Source<Load>& from, uint32_t anchor, Verdict verdict,
                       const float (&raw)[4]) {
    const DevicePlan& plan = from.plan;
    const bool classed = verdict.class_id < plan.class_ids;
    const float threshold =
        !plan.uniform && classed ? plan.class_threshold[verdict.class_id] : plan.rules.lowest_threshold;
    if (!passes(verdict.score, threshold, plan.rules.contract)) return;
    atomicAdd(&above_threshold, 1u);
    const Box box = decoded_box(plan, anchor, {raw[0], raw[1], raw[2], raw[3]});
    if (!classed || !is_finite(verdict.score) || !finite(box)) {
      atomicAdd(&not_finite, 1u);
      return;
    }
    if (!plan.uniform && plan.class_wanted[verdict.class_id] == 0) return;
    const uint32_t at = atomicAdd(&count, 1u);
    keys[at] = order_key(verdict.score, anchor, verdict.class_id);
    boxes[at] = make_float4(box.x1, box.y1, box.x2, box.y2);
  }

  /// Moves all to the image's list. All threads call it, between barriers of their own.
  __device__ void flush(Control& control, const Boxes& list) {
    if (threadIdx.x == 0 && count != 0) base = atomicAdd(&control.taken, count);
    if (threadIdx.x == kWarp && not_finite != 0) atomicAdd(&control.not_finite, not_finite);
    if (threadIdx.x == 0) {
      flushed += count;
      all_above += above_threshold;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
      list.keys[base + i] = keys[i];
      list.boxes[base + i] = boxes[i];
    }
    __syncthreads();
    reset();
    __syncthreads();
  }

  /// Between two passes over as many anchors as there are threads.
  __device__ void make_room(Control& control, const Boxes& list) {
    __syncthreads();
    const bool full = count > kStaged - kFrameThreads;
    __syncthreads();
    if (full) flush(control, list);
  }
};

}  // namespace keepbox::cuda
