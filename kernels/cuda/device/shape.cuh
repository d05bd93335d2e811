// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts boxes in device memory to shapes of a geometry.
#pragma once

#include "core/formula/geometry.h"
#include "kernels/cuda/device/launches.h"

namespace keepbox::cuda {

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

/// Returns the angle of a candidate, stored by anchor; 0 for upright boxes and absent candidates.
/// The image is the second dimension of the grid, which is 1 for single-image kernels.
/// @param key its key, or the lower half.
__device__ inline float angle_of(const DevicePlan& plan, uint64_t key) {
  const uint32_t anchor = anchor_in_key(plan.rules.contract, key_anchor(key));
  if (plan.angles == nullptr || anchor >= plan.rules.anchors) return 0;
  return __ldcg(plan.angles + size_t{blockIdx.y} * plan.rules.anchors + anchor);
}

/// Returns the box as the canonical shape of its geometry. @param key its key, or the lower half.
template <BoxGeometry Geometry>
__device__ typename Geometry::Shape shape_of(const DevicePlan& plan, const float4& box,
                                             uint64_t key) {
  float angle = 0;
  if constexpr (Geometry::kOriented) angle = angle_of(plan, key);
  return Geometry::shape(to_box(box), angle, plan.rules.contract, key_class(key));
}

template <BoxGeometry Geometry>
__device__ float area_of(const DevicePlan& plan, const typename Geometry::Shape& shape) {
  return Geometry::area(shape, plan.rules.contract);
}

/// Returns a core Candidate.
__device__ inline Candidate candidate(const DevicePlan& plan, uint64_t key, const float4& box) {
  return {key, to_box(box), angle_of(plan, key)};
}
__device__ inline Candidate candidate_at(const DevicePlan& plan, const Boxes& from, uint32_t i) {
  return candidate(plan, from.keys[i], from.boxes[i]);
}

/// Compares two candidates without stored areas.
template <BoxGeometry Geometry>
__device__ bool overlap(const DevicePlan& plan, const Boxes& of, uint32_t a, uint32_t b) {
  return keepbox::overlap<Geometry>(plan.rules, candidate_at(plan, of, a),
                                    candidate_at(plan, of, b));
}

}  // namespace keepbox::cuda
