// SPDX-License-Identifier: LGPL-2.1-or-later
// Scans over the anchors of an image. Each calls Stage::add() once for an anchor that may pass.
#pragma once

#include "kernels/cuda/frame/segments.cuh"

namespace keepbox::cuda {

template <class Load>
__device__ RawBox load_box(const FieldReader<Load>& from, uint32_t anchor) {
  RawBox raw;
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) raw.v[i] = from.get(FieldId::kBox, anchor, i);
  return raw;
}

/// Half a warp processes a row; the other half processes another one.
inline constexpr uint32_t kRowLanes = kWarp / 2, kWarpRows = kWarp / kRowLanes;

/// Computes largest_logit() by the lanes of a row, with the result in all of them.
template <class Load>
__device__ float row_largest_logit(const FieldReader<Load>& from, uint32_t anchor, float best) {
  float largest = largest_logit(from, anchor, best, lane_id() % kRowLanes, kRowLanes);
  for (uint32_t step = kRowLanes / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kFull, largest, step);
    if (other > largest) largest = other;
  }
  return largest;
}

/// Processes one anchor per half warp.
template <class Load>
__device__ void score_rows(const FieldReader<Load>& from, Stage& stage, bool there, uint32_t anchor,
                           float objectness) {
  const uint32_t lane = lane_id() % kRowLanes;
  const float number = there && lane < 4 ? from.get(FieldId::kBox, anchor, lane) : 0;
  ScoredClass best;
  if (there) best = quick_best_class<5>(from, anchor, objectness, lane, kRowLanes);
  for (uint32_t step = kRowLanes / 2; step > 0; step /= 2) {
    const ScoredClass other = exchange(best, step);
    if (better(other, best)) best = other;
  }
  const bool softmax = has_softmax(from);
  const float largest = softmax ? row_largest_logit(from, anchor, best.score) : 0;
  RawBox raw;
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
    raw.v[i] = __shfl_sync(kFull, number, lane_id() / kRowLanes * kRowLanes + i);
  if (!there || lane != 0 || (softmax && !may_pass(from, best.score, largest))) return;
  stage.add(from, anchor, final_score(from, anchor, best, objectness, largest),
            [&] { return raw; });
}

/// Distributes adjacent anchors, which often belong to one object, to different blocks, to balance
/// the load.
template <class Load>
__device__ void scan_rows(const FieldReader<Load>& from, Stage& stage, ScanShared& shared,
                          Control& control, const Lists& lists) {
  const uint32_t anchors = anchors_of(from);
  const bool weighted = from.has(FieldId::kObjectness);
  for (uint32_t base = blockIdx.x; base < anchors; base += gridDim.x * kFrameThreads) {
    uint32_t count = min(kFrameThreads, (anchors - base + gridDim.x - 1) / gridDim.x);
    if (weighted) {
      if (threadIdx.x == 0) shared.listed.count = 0;
      __syncthreads();
      const uint32_t anchor = base + threadIdx.x * gridDim.x;
      const float objectness = threadIdx.x < count ? objectness_of(from, anchor) : 0;
      if (threadIdx.x < count && is_object(from, objectness)) {
        const uint32_t at = atomicAdd(&shared.listed.count, 1u);
        shared.listed.objectness[at] = objectness;
        shared.listed.anchor[at] = anchor;
      }
      __syncthreads();
      count = shared.listed.count;
    }
    for (uint32_t first = warp_id() * kWarpRows; first < count; first += kFrameWarps * kWarpRows) {
      const uint32_t i = min(first + lane_id() / kRowLanes, count - 1);
      score_rows(from, stage, first + lane_id() / kRowLanes < count,
                 weighted ? shared.listed.anchor[i] : base + i * gridDim.x,
                 weighted ? shared.listed.objectness[i] : 1.0f);
    }
    stage.flush_if_full(from.plan, control, lists);
  }
}

template <class Load>
__device__ void scan_planes(const FieldReader<Load>& from, Stage& stage, ScanShared& shared,
                            Control& control, const Lists& lists, uint32_t slices) {
  const uint32_t anchors = anchors_of(from);
  const uint32_t slice = warp_id() % slices, group = warp_id() / slices;
  const uint32_t width = kFrameThreads / slices;  // anchors per block at a time
  for (uint32_t base = blockIdx.x * width; base < anchors; base += gridDim.x * width) {
    const uint32_t anchor = base + group * kWarp + lane_id();
    const bool inside = anchor < anchors;
    RawBox raw;
    if (inside && slice == 0) raw = load_box(from, anchor);
    const float objectness = inside ? objectness_of(from, anchor) : 0;
    const bool object = inside && is_object(from, objectness);
    ScoredClass best;
    if (object)
      best = slices > 4 ? quick_best_class<10>(from, anchor, objectness, slice, slices)
                        : quick_best_class<16>(from, anchor, objectness, slice, slices);
    best = over_slices(best, shared.slice_best, slices);
    if (object && slice == 0) {
      const float largest = has_softmax(from) ? largest_logit(from, anchor, best.score) : 0;
      if (!has_softmax(from) || may_pass(from, best.score, largest))
        stage.add(from, anchor, final_score(from, anchor, best, objectness, largest),
                  [&] { return raw; });
    }
    stage.flush_if_full(from.plan, control, lists);
  }
}

template <class Load>
__device__ void scan_ready(const FieldReader<Load>& from, Stage& stage, Control& control,
                           const Lists& lists) {
  const uint32_t anchors = anchors_of(from);
  for (uint32_t base = blockIdx.x * kFrameThreads; base < anchors;
       base += gridDim.x * kFrameThreads) {
    const uint32_t anchor = base + threadIdx.x;
    if (anchor < anchors)
      stage.add(from, anchor, ready_score(from, anchor), [&] { return load_box(from, anchor); });
    stage.flush_if_full(from.plan, control, lists);
  }
}

template <class Load>
__device__ void scan(const FieldReader<Load>& from, Stage& stage, ScanShared& shared,
                     Control& control, const Lists& lists, uint32_t slices) {
  switch (from.plan.scan) {
    case Scan::kRows: return scan_rows(from, stage, shared, control, lists);
    case Scan::kPlanes: return scan_planes(from, stage, shared, control, lists, slices);
    default: return scan_ready(from, stage, control, lists);
  }
}

}  // namespace keepbox::cuda
