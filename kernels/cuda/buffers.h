// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory of a runner: one blob on the device and one on the host that the device can write to,
// and core's plan with pointers into them.
#pragma once

#include <span>
#include <vector>

#include "core/plan.h"
#include "core/tensor.h"
#include "core/workspace.h"
#include "kernels/cuda/device.h"

namespace keepbox::cuda {

/// Candidates in memory.
struct BoxSpans {
  std::span<uint64_t> keys;
  std::span<float4> boxes;

  Boxes all() const { return {keys.data(), boxes.data()}; }
};

struct Buffers {
  // On the device:
  std::span<Control> control;  // an image each
  BoxSpans candidates;         // images x rules.candidates
  BoxSpans dealt, kept_of;     // images x buckets x room
  std::span<float> class_threshold;
  std::span<uint8_t> class_wanted;
  std::span<Prior> priors;
  std::span<Level> levels;
  std::span<AnchorSize> anchor_sizes;
  std::span<SizeLimits> size_limits;  // room for these and regions, whether or not a plan has any
  std::span<Region> regions;
  std::span<DeviceSegment> segments;
  std::span<float> angles;   // images x anchors of turned boxes
  std::span<uint64_t> runs;  // candidates in whole runs; from here on for one image at a time
  std::span<uint32_t> run_index;
  BoxSpans ordered, kept;
  std::span<uint32_t> words;
  // On the host:
  std::span<Header> headers;  // an image each
  std::span<Detection> out;   // images x kept_capacity

  /// For a plan, which may have no limits and no regions.
  Tables tables(const Plan& plan) const;
};

/// How the frame kernel deals a plan's candidates out; not at all where it does not suppress them.
Buckets buckets_of(const Plan& plan);

/// Lists what a plan needs.
Buffers carve(Carver& device, Carver& host, const Plan& plan);

/// The plan for kernels, without tensors.
DevicePlan device_plan(const Plan& plan, const Buffers& buffers);

/// A plan's segments for blocks that take so many anchors at a time. @param pieces learns how many.
std::vector<DeviceSegment> device_segments(const Plan& plan, uint32_t width, Pieces& pieces);

/// Points a plan, or its pieces, at tensors whose data is on the device at `data`. @return how all
/// can be read.
Numbers bind_fields(DevicePlan& plan, Pieces& pieces, const Layout& layout,
                    std::span<const TensorView> tensors, std::span<const std::byte* const> data);

}  // namespace keepbox::cuda
