// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression: each candidate against vectors of the boxes that are kept.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/nms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/reference/reference.h"

#ifndef KEEPBOX_SIMD_NMS_ONCE
#define KEEPBOX_SIMD_NMS_ONCE
namespace keepbox::simd {

/// Kept boxes by field. Classes are whole numbers below 2048, exact in a float.
struct Kept {
  float *x1, *y1, *x2, *y2, *area, *class_id;
};

}  // namespace keepbox::simd
#endif  // KEEPBOX_SIMD_NMS_ONCE

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

/// extent() of core/box.h for vectors: the same operations in the same order.
template <class V>
HWY_INLINE V Extent(V low, V high, bool plus_one) {
  const Floats d;
  auto size = hn::Sub(high, low);
  if (plus_one) size = hn::Add(size, hn::Set(d, 1.0f));
  return hn::IfThenElseZero(hn::Gt(size, hn::Zero(d)), size);
}

/// Does any of the first `count` kept boxes overlap the box? overlaps() of core/box.h in vectors.
HWY_INLINE bool AnyOverlaps(const Plan& plan, const Kept& kept, size_t count, const Box& box,
                            float box_area, float class_id) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const NmsContract& contract = plan.contract;
  const auto x1 = hn::Set(d, box.x1), y1 = hn::Set(d, box.y1), x2 = hn::Set(d, box.x2),
             y2 = hn::Set(d, box.y2), area = hn::Set(d, box_area), id = hn::Set(d, class_id),
             threshold = hn::Set(d, plan.iou_threshold);
  for (size_t k = 0; k < count; k += lanes) {
    auto eligible = hn::FirstN(d, count - k);
    if (!contract.class_agnostic)
      eligible = hn::And(eligible, hn::Eq(hn::LoadU(d, kept.class_id + k), id));
    if (hn::AllFalse(d, eligible)) continue;
    const auto width = Extent(hn::Max(hn::LoadU(d, kept.x1 + k), x1),
                              hn::Min(hn::LoadU(d, kept.x2 + k), x2), contract.plus_one);
    const auto height = Extent(hn::Max(hn::LoadU(d, kept.y1 + k), y1),
                               hn::Min(hn::LoadU(d, kept.y2 + k), y2), contract.plus_one);
    const auto common = hn::Mul(width, height);
    const auto both = hn::Sub(hn::Add(hn::LoadU(d, kept.area + k), area), common);
    const auto iou = hn::Div(common, both);
    const auto over = contract.iou_inclusive ? hn::Ge(iou, threshold) : hn::Gt(iou, threshold);
    if (!hn::AllFalse(d, hn::And(over, eligible))) return true;
  }
  return false;
}

uint32_t Greedy(const Plan& plan, const Candidate* candidates, size_t count, uint32_t* indices,
                size_t limit, const Kept& kept) {
  size_t number = 0;
  for (size_t i = 0; i < count && number < limit; ++i) {
    const Box box = ordered(candidates[i].box, plan.contract);
    const float box_area = area(box, plan.contract);
    const auto class_id = static_cast<float>(key_class(candidates[i].key));
    if (AnyOverlaps(plan, kept, number, box, box_area, class_id)) continue;
    kept.x1[number] = box.x1;
    kept.y1[number] = box.y1;
    kept.x2[number] = box.x2;
    kept.y2[number] = box.y2;
    kept.area[number] = box_area;
    kept.class_id[number] = class_id;
    indices[number++] = static_cast<uint32_t>(i);
  }
  return static_cast<uint32_t>(number);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(Greedy);

uint32_t nms(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  if (plan.method == NmsMethod::kNone && !plan.contract.per_class_limit) {
    const size_t count = std::min(candidates.size(), kept.size());
    std::iota(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(count), 0u);
    return static_cast<uint32_t>(count);
  }
  // Rules that few ask for are left to the reference.
  if (plan.method != NmsMethod::kGreedy || plan.contract.per_class_limit ||
      plan.contract.empty_overlap)
    return reference::nms(plan, candidates, kept, scratch);
  const size_t stride = scratch.lanes.size() / kBoxLanes;
  float* at = scratch.lanes.data();
  const Kept fields{at,              at + stride,     at + 2 * stride,
                    at + 3 * stride, at + 4 * stride, at + 5 * stride};
  return HWY_DYNAMIC_DISPATCH(Greedy)(plan, candidates.data(), candidates.size(), kept.data(),
                                      kept.size(), fields);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
