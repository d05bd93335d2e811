// SPDX-License-Identifier: LGPL-2.1-or-later
// overlaps() of core/box.h, decided without its division where that cannot change the answer.
#pragma once

#include "kernels/cuda/source.cuh"

namespace keepbox::cuda {

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

/// Contracts with conventions of their own are rare: their code stays out of the loops.
__device__ __noinline__ inline bool overlaps_by_contract(const DevicePlan& plan, float threshold,
                                                         float4 a, float4 b) {
  return overlaps(to_box(a), to_box(b), threshold, plan.rules.contract);
}

__device__ __noinline__ inline bool exceeds(const DevicePlan& plan, float threshold, float common,
                                            float both) {
  const float iou = common / both;
  return plan.rules.contract.iou_inclusive ? iou >= threshold : iou > threshold;
}

/// Do two boxes overlap by more than the threshold?
///
/// Divides only where the guard of core/box.h asks for it.
/// @tparam kPlain of plan.plain_overlap.
template <bool kPlain>
__device__ bool hits(const DevicePlan& plan, float threshold, float4 a, float4 b) {
  if (!kPlain) return overlaps_by_contract(plan, threshold, a, b);
  const auto extent_of = [](float low, float high) { return fmaxf(high - low, 0.0f); };
  const float common =
      extent_of(fmaxf(a.x, b.x), fminf(a.z, b.z)) * extent_of(fmaxf(a.y, b.y), fminf(a.w, b.w));
  const float area_a = extent_of(a.x, a.z) * extent_of(a.y, a.w);
  const float area_b = extent_of(b.x, b.z) * extent_of(b.y, b.w);
  const float both = (area_a + area_b) - common;
  const float bound = threshold * both;
  const float beyond = common - bound;
  // Without branches but for the rare one: they take longer than the arithmetic.
  bool over = beyond > 0;
  if (!((fabsf(beyond) > bound * kOverlapGuard) & (bound > kOverlapLeast)))
    over = exceeds(plan, threshold, common, both);
  return over;
}

__device__ inline bool hits(const DevicePlan& plan, float4 a, float4 b) {
  return plan.plain_overlap ? hits<true>(plan, plan.rules.iou_threshold, a, b)
                            : hits<false>(plan, plan.rules.iou_threshold, a, b);
}

__device__ inline bool same_class(const NmsContract& contract, uint64_t a, uint64_t b) {
  return contract.class_agnostic || key_class(a) == key_class(b);
}

/// Does box `a` suppress box `b`, if it is in a position to?
__device__ inline bool suppresses(const DevicePlan& plan, const Boxes& a, uint32_t i,
                                  uint64_t key_b, float4 b) {
  return same_class(plan.rules.contract, __ldcg(a.keys + i), key_b) && hits(plan, __ldcg(a.boxes + i), b);
}

}  // namespace keepbox::cuda
