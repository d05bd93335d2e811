// SPDX-License-Identifier: LGPL-2.1-or-later
// Scan of anchors in several segments, and of features that few families have: bins, multiple
// labels, peaks, indices.
#pragma once

#include "kernels/cuda/frame/stage.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kSegmentWords = sizeof(DeviceSegment) / sizeof(uint32_t);
static_assert(sizeof(DeviceSegment) % sizeof(uint32_t) == 0 && kSegmentWords <= kFrameThreads);

/// AnchorTerms memory of a scan, next to that of the stage.
union ScanShared {
  struct {  // kRows: anchors whose objectness passes
    float objectness[kFrameThreads];
    uint32_t anchor[kFrameThreads];
    uint32_t count;
  } listed;
  uint64_t slice_best[kFrameThreads];  // kPlanes: one per thread's slice
  struct {                             // kSegments: likewise, and the block's segment
    uint64_t slice_best[kFrameThreads];
    alignas(16) uint32_t words[kSegmentWords];
    uint32_t open, anchor[kFrameThreads];  // anchors with a class that may pass, and values
    float objectness[kFrameThreads];       // shared by their classes
    float largest[kFrameThreads], sum[kFrameThreads];
    __device__ DeviceSegment& segment() { return reinterpret_cast<DeviceSegment&>(words); }
  } segmented;
};

template <class Load>
__device__ bool has_softmax(const FieldReader<Load>& from) {
  return from.rules.scores.activation == Activation::kSoftmax;
}

/// True if the softmax of such a logit may pass; skips the sum for most of the background.
template <class Load>
__device__ bool may_pass(const FieldReader<Load>& from, float logit, float largest) {
  return from.has(FieldId::kObjectness) ||
         passes(exp_f32(logit - largest), min_best(from.rules), from.rules.contract);
}

/// Returns the best of all slices for the anchors of a group; valid in slice 0.
__device__ inline ScoredClass over_slices(ScoredClass best, uint64_t (&slice_best)[kFrameThreads],
                                          uint32_t slices) {
  if (slices == 1) return best;
  __syncthreads();
  const uint64_t none = ~uint64_t{0};  // the order of candidates is that of verdicts
  uint64_t key = best.class_id == kMaxClasses ? none : order_key(best.score, 0, best.class_id);
  slice_best[threadIdx.x] = key;
  __syncthreads();
  if (warp_id() % slices != 0) return best;
#pragma unroll 4
  for (uint32_t s = 1; s < slices; ++s) key = min(key, slice_best[threadIdx.x + s * kWarp]);
  return key == none ? ScoredClass{} : ScoredClass{key_score(key), key_class(key)};
}

/// Copies the segment of a chunk to shared memory, with pointers to tensors. Called by all threads;
/// has its own barriers.
__device__ inline void load_segment(const SegmentTable& segments, uint32_t chunk,
                                    DeviceSegment& segment) {
  uint32_t number = 0;  // segments that begin before the chunk
  for (uint32_t first = 0; first < segments.count; first += kFrameThreads) {
    const uint32_t i = first + threadIdx.x;
    number += __syncthreads_count(i < segments.count && chunk >= segments.list[i].first_chunk);
  }
  const DeviceSegment& from = segments.list[number - 1];
  if (threadIdx.x < kSegmentWords)
    reinterpret_cast<uint32_t*>(&segment)[threadIdx.x] =
        reinterpret_cast<const uint32_t*>(&from)[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < kDecodedFields && segment.fields[threadIdx.x].element != 0) {
    const auto offset = reinterpret_cast<size_t>(segment.fields[threadIdx.x].data);
    segment.fields[threadIdx.x].data = segments.data[segment.tensors[threadIdx.x]] + offset;
  }
  __syncthreads();
}

/// Visits all classes of anchors with one that may pass, one thread per anchor and class. Called by
/// all threads.
/// @param open true if this thread's anchor has such a class.
template <class Load>
__device__ void add_all_classes(const FieldReader<Load>& from, Stage& stage, ScanShared& scan,
                                Control& control, const Lists& lists, bool open, uint32_t anchor,
                                float objectness) {
  if (__syncthreads_or(open) == 0) return;
  auto& list = scan.segmented;
  if (threadIdx.x == 0) list.open = 0;
  __syncthreads();
  if (open) {
    const uint32_t at = atomicAdd(&list.open, 1u);
    const AnchorTerms shared = anchor_terms(from, anchor, objectness);
    list.anchor[at] = anchor;
    list.objectness[at] = shared.objectness;
    list.largest[at] = shared.largest;
    list.sum[at] = shared.sum;
  }
  __syncthreads();
  const uint32_t classes = from.rules.end_class - from.rules.first_class;
  const uint32_t count = list.open * classes;
  for (uint32_t base = 0; base < count; base += kFrameThreads) {
    const uint32_t number = base + threadIdx.x, at = number / classes;
    if (number < count)
      stage.add(
          from, list.anchor[at],
          class_score(from, list.anchor[at], {list.objectness[at], list.largest[at], list.sum[at]},
                      from.rules.first_class + number % classes),
          [&] { return raw_box(from, list.anchor[at]); });
    stage.flush_if_full(from.plan, control, lists);
  }
}

/// Processes the anchors of a chunk. @param inside true if this thread has an anchor.
template <class Load>
__device__ void score_in_segment(const FieldReader<Load>& from, Stage& stage, ScanShared& shared,
                                 Control& control, const Lists& lists, uint32_t slices, bool inside,
                                 uint32_t anchor) {
  const uint32_t slice = warp_id() % slices;
  const float objectness = inside ? objectness_of(from, anchor) : 0;
  const bool object = inside && is_object(from, objectness);
  ScoredClass best;
  if (object) best = quick_best_class<8>(from, anchor, objectness, slice, slices);
  best = over_slices(best, shared.segmented.slice_best, slices);
  bool open = false;
  if (object && slice == 0) {
    const bool soft = has_softmax(from);
    const float largest = soft ? largest_logit(from, anchor, best.score) : 0;
    open = !soft || may_pass(from, best.score, largest);
    if (open && !from.rules.multi_label)
      stage.add(from, anchor, final_score(from, anchor, best, objectness, largest),
                [&] { return raw_box(from, anchor); });
    if (open && from.rules.multi_label)
      open = !best_decides(from.rules) ||
             passes(final_score(from, anchor, best, objectness, largest).score,
                    min_best(from.rules), from.rules.contract);
  }
  if (from.rules.multi_label)
    add_all_classes(from, stage, shared, control, lists, open, anchor, objectness);
}

template <class Load>
__device__ void scan_segments(const DevicePlan& plan, const SegmentTable& segments, uint32_t image,
                              Stage& stage, ScanShared& shared, Control& control,
                              const Lists& lists, uint32_t slices) {
  const uint32_t group = warp_id() / slices, width = kFrameThreads / slices;
  for (uint32_t chunk = blockIdx.x; chunk < segments.chunks; chunk += gridDim.x) {
    load_segment(segments, chunk, shared.segmented.segment());
    const DeviceSegment& segment = shared.segmented.segment();
    const FieldReader<Load> from(plan, image, segment);
    const uint32_t at = (chunk - segment.first_chunk) * width + group * kWarp + lane_id();
    const uint32_t anchor = segment.first + at;
    if (has_ready_scores(from)) {
      if (at < segment.count && anchor < anchors_of(from) && warp_id() % slices == 0)
        stage.add(from, anchor, ready_score(from, anchor), [&] { return raw_box(from, anchor); });
    } else {
      score_in_segment(from, stage, shared, control, lists, slices, at < segment.count, anchor);
    }
    stage.flush_if_full(plan, control, lists);
  }
}

/// Returns the number of valid rows of one segment, or of all anchors. Called by all threads; has
/// its own barriers.
template <class Load>
__device__ uint32_t rows_of(const DevicePlan& plan, const SegmentTable& segments, uint32_t image,
                            DeviceSegment& segment) {
  load_segment(segments, 0, segment);
  return anchors_of(FieldReader<Load>(plan, image, segment));
}

}  // namespace keepbox::cuda
