// SPDX-License-Identifier: LGPL-2.1-or-later
// Device buffers of a runner, its grids, and uploads.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/plan/plan.h"
#include "core/run/workspace.h"
#include "kernels/cuda/device/launches.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

// Memory of a runner: one block on the device, one on the host that the device can write to, and a
// device copy of the plan with pointers into them.

/// Candidates in device memory.
struct BoxSpans {
  std::span<uint64_t> keys;
  std::span<float4> boxes;

  Boxes all() const { return {keys.data(), boxes.data()}; }
};

struct Buffers {
  // Device memory:
  std::span<Control> control;  // one per image
  BoxSpans candidates;         // images x rules.candidates
  BoxSpans bucketed, kept_of;  // images x buckets x room
  std::span<float> class_threshold;
  std::span<uint8_t> class_wanted;
  std::span<Prior> priors;
  std::span<Level> levels;
  std::span<AnchorSize> anchor_sizes;
  std::span<SizeLimits> size_limits;  // always allocated, like regions
  std::span<Region> regions;
  std::span<Letterbox> maps;  // one per image, if each has its own
  std::span<DeviceSegment> segments;
  std::span<float> angles;   // images x anchors, for oriented boxes
  std::span<uint64_t> runs;  // candidates in whole runs; from here on for one image at a time
  std::span<uint32_t> run_index;
  BoxSpans ordered, kept;
  std::span<uint32_t> words;
  std::span<Detection> device_out;   // as `out`, if there is a payload
  std::span<Header> device_headers;  // as `headers`, of runs that are only enqueued
  // Host memory:
  std::span<Header> headers;  // one per image
  std::span<Detection> out;   // images x kept_capacity

  /// Returns where kept boxes are written out.
  BoxOutput output() const {
    return {out.data(), device_out.empty() ? nullptr : device_out.data()};
  }

  /// Returns the tables of a plan; size limits and regions are null if the plan has none.
  Tables tables(const Plan& plan) const;
};

/// Returns how the frame kernel distributes candidates to buckets; none if it does not suppress
/// them.
Buckets buckets_of(const Plan& plan);

/// Divides the memory into the buffers of a plan.
Buffers carve(Carver& device, Carver& host, const Plan& plan);

/// Returns the plan for kernels, without tensors.
DevicePlan device_plan(const Plan& plan, const Buffers& buffers);

/// Returns a plan's segments for blocks of `width` anchors at a time. @param segments receives
/// their number.
std::vector<DeviceSegment> device_segments(const Plan& plan, uint32_t width,
                                           SegmentTable& segments);

/// Sets the pointers of a plan, or of its segments, to tensors on the device at `data`; for a joint
/// plan, those of the first frame, which the others follow. @return the fastest way to read all of
/// them.
LoadKind bind_fields(DevicePlan& plan, SegmentTable& segments, const Plan& from,
                     std::span<const TensorView> tensors, std::span<const std::byte* const> data);

// Distribution of the work of a frame over the blocks of the frame kernel.

struct FrameGrid {
  dim3 blocks;
  uint32_t slices = 1;      // warps that share the classes of an anchor
  uint32_t processors = 0;  // multiprocessors of the device
};

/// Returns the grid on the current device: few blocks per multiprocessor for one image, and none
/// without work.
Result<FrameGrid> choose_grid(const DevicePlan& plan, uint32_t images);

// Copies what a plan has in host memory to a runner's device memory.

/// Copies values, and waits. cudaMemcpy() may return before a copy from pageable memory is
/// complete.
/// @pre `to` is at least as long.
template <class T>
Status upload(std::span<T> to, std::span<const std::type_identity_t<T>> from, cudaStream_t stream) {
  KB_TRY_CUDA(
      cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/// Copies the tables of a plan, and waits.
Status upload_tables(const Plan& plan, const Buffers& buffers, cudaStream_t stream);

}  // namespace keepbox::cuda
