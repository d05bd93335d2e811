// SPDX-License-Identifier: LGPL-2.1-or-later
// The three ways through the anchors of an image. Each calls Stage::take() once for an anchor that
// may pass.
#pragma once

#include "kernels/cuda/stage.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kWarps = kFrameThreads / kWarp;

/// Beside the stage.
union ScanShared {
  struct {  // kRows: anchors that pass by their objectness
    float objectness[kFrameThreads];
    uint32_t anchor[kFrameThreads];
    uint32_t count;
  } listed;
  uint64_t verdict[kFrameThreads];  // kPlanes: of each thread's slice
};

template <class Load>
__device__ void load_box(const Source<Load>& from, uint32_t anchor, float (&raw)[4]) {
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) raw[i] = from.get(from.plan.box, anchor, i);
}

/// Softmax of the best logit, by one thread; the sum in class order.
template <class Load>
__device__ float softmax_of(const Source<Load>& from, uint32_t anchor, float best) {
  const DevicePlan& plan = from.plan;
  float largest = best;
  for (uint32_t c = 0; c < plan.classes; ++c) {
    const float logit = from.get(plan.rules.scores, anchor, c);
    if (logit > largest) largest = logit;
  }
  float sum = 0;
  for (uint32_t c = 0; c < plan.classes; ++c)
    sum = sum + exp_f32(from.get(plan.rules.scores, anchor, c) - largest);
  return exp_f32(best - largest) / sum;
}

/// The same by a warp, which all lanes return.
template <class Load>
__device__ float warp_softmax_of(const Source<Load>& from, uint32_t anchor, float best) {
  const DevicePlan& plan = from.plan;
  const uint32_t lane = threadIdx.x % kWarp;
  float largest = best;
  for (uint32_t c = lane; c < plan.classes; c += kWarp) {
    const float logit = from.get(plan.rules.scores, anchor, c);
    if (logit > largest) largest = logit;
  }
  for (uint32_t step = kWarp / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kFull, largest, step);
    if (other > largest) largest = other;
  }
  float sum = 0;
  for (uint32_t first = 0; first < plan.classes; first += kWarp) {
    const uint32_t c = first + lane;
    const float term = c < plan.classes ? exp_f32(from.get(plan.rules.scores, anchor, c) - largest) : 0;
    const uint32_t count = min(kWarp, plan.classes - first);
    for (uint32_t i = 0; i < count; ++i) sum = sum + __shfl_sync(kFull, term, i);
  }
  return exp_f32(best - largest) / sum;
}

/// One anchor by a whole warp.
template <class Load>
__device__ void judge_row(const Source<Load>& from, Stage& stage, uint32_t anchor,
                          float objectness) {
  const DevicePlan& plan = from.plan;
  const uint32_t lane = threadIdx.x % kWarp;
  const float number = lane < 4 ? from.get(plan.box, anchor, lane) : 0;
  Verdict best = best_class<4>(from, anchor, objectness, lane, kWarp);
  for (uint32_t step = kWarp / 2; step > 0; step /= 2) {
    const Verdict other = exchange(best, step);
    if (better(other, best)) best = other;
  }
  const bool softmax = plan.score_rules.activation == Activation::kSoftmax;
  const float share =
      softmax && best.class_id != kMaxClasses ? warp_softmax_of(from, anchor, best.score) : 0;
  float raw[4];
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) raw[i] = __shfl_sync(kFull, number, i);
  if (lane == 0) stage.take(from, anchor, finish(plan, best, objectness, share), raw);
}

/// Neighbouring anchors see the same object: they go to different blocks, to share its work.
template <class Load>
__device__ void scan_rows(const Source<Load>& from, Stage& stage, ScanShared& shared,
                          Control& control, const Boxes& list) {
  const DevicePlan& plan = from.plan;
  const uint32_t anchors = from.anchors(), warp = threadIdx.x / kWarp;
  for (uint32_t base = blockIdx.x; base < anchors; base += gridDim.x * kFrameThreads) {
    uint32_t count = min(kFrameThreads, (anchors - base + gridDim.x - 1) / gridDim.x);
    if (plan.objectness.present) {
      if (threadIdx.x == 0) shared.listed.count = 0;
      __syncthreads();
      const uint32_t anchor = base + threadIdx.x * gridDim.x;
      const float objectness = threadIdx.x < count ? objectness_of(from, anchor) : 0;
      if (threadIdx.x < count && is_object(plan, objectness)) {
        const uint32_t at = atomicAdd(&shared.listed.count, 1u);
        shared.listed.objectness[at] = objectness;
        shared.listed.anchor[at] = anchor;
      }
      __syncthreads();
      count = shared.listed.count;
    }
    for (uint32_t i = warp; i < count; i += kWarps)
      judge_row(from, stage,
                plan.objectness.present ? shared.listed.anchor[i] : base + i * gridDim.x,
                plan.objectness.present ? shared.listed.objectness[i] : 1.0f);
    stage.make_room(control, list);
  }
}

/// The best over all slices, for the anchors of a group; what slice 0 returns counts.
__device__ inline Verdict over_slices(Verdict best, ScanShared& shared, uint32_t slices) {
  if (slices == 1) return best;
  __syncthreads();
  const uint64_t none = ~uint64_t{0};  // the order of candidates is that of verdicts
  uint64_t key = best.class_id == kMaxClasses ? none : order_key(best.score, 0, best.class_id);
  shared.verdict[threadIdx.x] = key;
  __syncthreads();
  if (threadIdx.x / kWarp % slices != 0) return best;
#pragma unroll 4
  for (uint32_t s = 1; s < slices; ++s) key = min(key, shared.verdict[threadIdx.x + s * kWarp]);
  return key == none ? Verdict{} : Verdict{key_score(key), key_class(key)};
}

template <class Load>
__device__ void scan_planes(const Source<Load>& from, Stage& stage, ScanShared& shared,
                            Control& control, const Boxes& list, uint32_t slices) {
  const DevicePlan& plan = from.plan;
  const uint32_t anchors = from.anchors(), lane = threadIdx.x % kWarp;
  const uint32_t slice = threadIdx.x / kWarp % slices, group = threadIdx.x / kWarp / slices;
  const uint32_t width = kFrameThreads / slices;  // anchors of a block at a time
  for (uint32_t base = blockIdx.x * width; base < anchors; base += gridDim.x * width) {
    const uint32_t anchor = base + group * kWarp + lane;
    const bool inside = anchor < anchors;
    float raw[4];
    if (inside && slice == 0) load_box(from, anchor, raw);
    const float objectness = inside ? objectness_of(from, anchor) : 0;
    const bool object = inside && is_object(plan, objectness);
    Verdict best;
    if (object)
      best = slices > 2 ? best_class<8>(from, anchor, objectness, slice, slices)
                        : best_class<16>(from, anchor, objectness, slice, slices);
    best = over_slices(best, shared, slices);
    if (object && slice == 0) {
      const bool softmax = plan.score_rules.activation == Activation::kSoftmax;
      const float share = softmax ? softmax_of(from, anchor, best.score) : 0;
      stage.take(from, anchor, finish(plan, best, objectness, share), raw);
    }
    stage.make_room(control, list);
  }
}

template <class Load>
__device__ void scan_ready(const Source<Load>& from, Stage& stage, Control& control,
                           const Boxes& list) {
  const DevicePlan& plan = from.plan;
  const uint32_t anchors = from.anchors();
  for (uint32_t base = blockIdx.x * kFrameThreads; base < anchors;
       base += gridDim.x * kFrameThreads) {
    const uint32_t anchor = base + threadIdx.x;
    if (anchor < anchors) {
      float raw[4];
      load_box(from, anchor, raw);
      Verdict verdict{from.get(plan.score, anchor), 0};
      if (plan.class_id.present) verdict.class_id = class_of(from.get(plan.class_id, anchor));
      stage.take(from, anchor, verdict, raw);
    }
    stage.make_room(control, list);
  }
}

}  // namespace keepbox::cuda
