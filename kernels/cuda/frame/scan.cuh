// SPDX-License-Identifier: LGPL-2.1-or-later
// Scans all scores of a frame, whole or in segments, and stages the candidates.
#pragma once

#include "core/formula/candidate.h"
#include "kernels/cuda/device/field_reader.cuh"

namespace keepbox::cuda {

// Stages a block's candidates in shared memory on their way to the image's lists, so that the
// shared counters are updated once for all of them.

inline constexpr uint32_t kStaged = 2 * kFrameThreads;

/// Lists of one image.
struct Lists {
  Boxes all;
  Boxes bucketed;  // by bucket
};

__device__ inline uint32_t bucket_of(const DevicePlan& plan, uint64_t key) {
  return plan.rules.contract.class_agnostic ? 0 : key_class(key) % plan.buckets.count;
}

struct Stage {
  static constexpr uint32_t kAbove = 1u << 16;

  uint64_t keys[kStaged];
  float4 boxes[kStaged];
  uint32_t both;  // anchors above the threshold, and candidates: one atomic addition counts both
  uint32_t not_finite, base;
  uint32_t flushed, all_above;  // includes earlier passes

  __device__ void begin() {
    reset();
    if (threadIdx.x == 0) flushed = all_above = 0;
  }

  __device__ void reset() {
    if (threadIdx.x == 0) both = not_finite = 0;
  }

  /// Adds one anchor, by one thread. @param raw returns the raw values of its box.
  template <class Load, class Raw>
  __device__ void add(const FieldReader<Load>& from, uint32_t anchor, ScoredClass scored, Raw raw) {
    Candidate candidate;
    const Outcome outcome = keepbox::try_candidate(from, anchor, scored, raw, candidate);
    if (outcome == Outcome::kBelow) return;
    if (outcome == Outcome::kNotFinite) atomicAdd(&not_finite, 1u);
    const bool stays = outcome == Outcome::kCandidate;
    const uint32_t at = atomicAdd(&both, kAbove + (stays ? 1 : 0)) % kAbove;
    if (!stays) return;
    if constexpr (Load::kSegments)
      if (from.plan.angles != nullptr)
        from.plan.angles[size_t{from.image} * from.rules.anchors + anchor] = candidate.angle;
    keys[at] = candidate.key;
    boxes[at] = {candidate.box.x1, candidate.box.y1, candidate.box.x2, candidate.box.y2};
  }

  /// Moves all candidates to the image's lists. Called by all threads; has its own barriers.
  __device__ void flush(const DevicePlan& plan, Control& control, const Lists& lists) {
    constexpr uint32_t kEach = kStaged / kFrameThreads;
    const uint32_t count = both % kAbove;
    if (threadIdx.x == 0 && count != 0) base = atomicAdd(&control.taken, count);
    if (threadIdx.x == kWarp && not_finite != 0) atomicAdd(&control.not_finite, not_finite);
    uint32_t slots[kEach];
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t at = i * kFrameThreads + threadIdx.x;
      if (at < count && plan.buckets.count != 0)
        slots[i] = atomicAdd(&control.counts[bucket_of(plan, keys[at])], 1u);
    }
    if (threadIdx.x == 0) {
      flushed += count;
      all_above += both / kAbove;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t at = i * kFrameThreads + threadIdx.x;
      if (at >= count) continue;
      lists.all.keys[base + at] = keys[at];
      lists.all.boxes[base + at] = boxes[at];
      if (plan.buckets.count == 0 || slots[i] >= plan.buckets.capacity) continue;
      const uint32_t to = bucket_of(plan, keys[at]) * plan.buckets.capacity + slots[i];
      lists.bucketed.keys[to] = keys[at];
      lists.bucketed.boxes[to] = boxes[at];
    }
    __syncthreads();
    reset();
    __syncthreads();
  }

  /// Makes room between two passes over as many anchors as there are threads.
  __device__ void flush_if_full(const DevicePlan& plan, Control& control, const Lists& lists) {
    __syncthreads();
    const bool full = both % kAbove > kStaged - kFrameThreads || both / kAbove > kAbove / 2;
    __syncthreads();
    if (full) flush(plan, control, lists);
  }
};

// Scan of anchors in several segments, and of features that few families have: bins, multiple
// labels, peaks, indices.

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

// Scans over the anchors of an image. Each calls Stage::add() once for an anchor that may pass.

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
