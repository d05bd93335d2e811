// SPDX-License-Identifier: LGPL-2.1-or-later
// Shared by the payload's kernels: the values of kept boxes, and the report to the host.
#pragma once

#include "kernels/cuda/device/boxes.cuh"
#include "kernels/cuda/device/field_reader.cuh"
#include "kernels/cuda/device/warp.cuh"
#include "kernels/cuda/payload/payload.h"

namespace keepbox::cuda {

inline constexpr uint32_t kPayloadThreads = 128;

/// Reads values of any type, from segments, for the templates of core/formula/score.h.
struct PayloadReader {
  const Rules& rules;
  const Tables& tables;
  const SegmentTable& segments;
  const DeviceSegment& segment;
  uint32_t image;

  __device__ PayloadReader(const DevicePlan& plan, const SegmentTable& from,
                           const DeviceSegment& of, uint32_t number)
      : rules(plan.rules), tables(plan.tables), segments(from), segment(of), image(number) {}

  __device__ const DeviceField& field(FieldId id) const {
    return segment.fields[static_cast<uint32_t>(id)];
  }
  __device__ bool has(FieldId id) const { return field(id).element != 0; }
  __device__ const std::byte* first(FieldId id) const {
    const DeviceField& from = field(id);
    return segments.data[segment.tensors[static_cast<uint32_t>(id)]] +
           reinterpret_cast<size_t>(from.data) + image * from.image_stride;
  }
  __device__ float get(FieldId id, uint32_t anchor, uint32_t channel = 0) const {
    const DeviceField& from = field(id);
    return AnyLoad::get(
        from, first(id) + size_t{anchor - segment.first} * from.anchor_stride * from.element,
        channel * from.channel_stride);
  }
};

__device__ inline const DeviceSegment& segment_of(const SegmentTable& segments, uint32_t anchor) {
  uint32_t number = 0;
  while (number + 1 < segments.count && anchor >= segments.list[number + 1].first) ++number;
  return segments.list[number];
}

/// Returns the number of an image's boxes, or kNotComplete.
__device__ inline uint32_t count_of(const KeptBoxes& kept, uint32_t image) {
  if (!kept.packed) return __ldcg(&kept.control[image].complete);
  return kept.headers[image].kept - kept.headers[image].empty;
}

/// Returns an image's boxes.
__device__ inline const Detection* boxes_of(const KeptBoxes& kept, uint32_t image) {
  return (kept.packed ? kept.boxes.host : kept.boxes.device) + size_t{image} * kept.stride;
}

/// Reports the end of the launch, by its last block. Called by all threads of all blocks.
__device__ inline void report_end(const Report& report) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint32_t blocks = gridDim.x * gridDim.y * gridDim.z;
  if (add_acq_rel(report.arrived, 1) + 1 != blocks) return;
  *report.arrived = 0;
  signal_host(*report.done, report.sequence);
}

__host__ __device__ inline uint32_t blocks_for(size_t count, uint32_t each) {
  return static_cast<uint32_t>((count + each - 1) / each);
}

}  // namespace keepbox::cuda
