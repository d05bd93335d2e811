// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of device memory as shapes of a geometry.
#pragma once

#include "core/geometry.h"
#include "kernels/cuda/device.h"

namespace keepbox::cuda {

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

/// The box in its geometry's canonical form. @param key its key, or only the class in it.
template <class Geometry>
__device__ typename Geometry::Shape shape_of(const DevicePlan& plan, const float4& box,
                                             uint64_t key) {
  return Geometry::shape(to_box(box), plan.rules.contract, key_class(key));
}

template <class Geometry>
__device__ float area_of(const DevicePlan& plan, const typename Geometry::Shape& shape) {
  return Geometry::area(shape, plan.rules.contract);
}

/// A candidate as core has it.
__device__ inline Candidate candidate_at(const Boxes& from, uint32_t i) {
  return {from.keys[i], to_box(from.boxes[i])};
}

/// Two of some candidates, whose areas nobody keeps.
template <class Geometry>
__device__ bool overlap(const DevicePlan& plan, const Boxes& of, uint32_t a, uint32_t b) {
  return keepbox::overlap<Geometry>(plan.rules, candidate_at(of, a), candidate_at(of, b));
}

}  // namespace keepbox::cuda
