// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of device memory as shapes of a geometry.
#pragma once

#include "core/geometry.h"
#include "kernels/cuda/device.h"

namespace keepbox::cuda {

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

/// The box in its geometry's canonical form.
template <class Geometry>
__device__ typename Geometry::Shape shape_of(const DevicePlan& plan, const float4& box) {
  return Geometry::shape(to_box(box), plan.rules.contract);
}

template <class Geometry>
__device__ float area_of(const DevicePlan& plan, const typename Geometry::Shape& shape) {
  return Geometry::area(shape, plan.rules.contract);
}

/// Two raw boxes, whose areas nobody keeps.
template <class Geometry>
__device__ bool overlap(const DevicePlan& plan, const float4& a, const float4& b) {
  return keepbox::overlap<Geometry>(plan.rules, to_box(a), to_box(b));
}

}  // namespace keepbox::cuda
