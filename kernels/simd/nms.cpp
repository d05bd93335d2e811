// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of upright and oriented boxes.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/nms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <numeric>

#include "core/reference/reference.h"
#include "kernels/simd/fast-inl.h"
#include "kernels/simd/greedy-inl.h"
#include "kernels/simd/oriented-inl.h"
#include "kernels/simd/upright-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

template <class Vectors>
uint32_t suppress(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  return plan.rules.method == NmsMethod::kFast
             ? suppress_by_all<Vectors>(plan, candidates, kept, scratch)
             : suppress_greedily<Vectors>(plan, candidates, kept, scratch);
}

uint32_t Suppress(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  if (!plan.rules.oriented) return suppress<UprightVectors>(plan, candidates, kept, scratch);
  return plan.rules.contract.oriented == OrientedOverlap::kPolygon
             ? suppress<OrientedVectors<OrientedPolygon>>(plan, candidates, kept, scratch)
             : suppress<OrientedVectors<OrientedGaussian>>(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

namespace {

/// True for methods with vector code; all exact methods keep the same boxes and share one.
bool is_known(NmsMethod method) {
  return method == NmsMethod::kGreedy || method == NmsMethod::kBitmask ||
         method == NmsMethod::kSegmented || method == NmsMethod::kFast;
}

}  // namespace

HWY_EXPORT(Suppress);

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  if (plan.rules.method == NmsMethod::kNone && !plan.rules.limits_classes()) {
    const size_t count = std::min(candidates.size(), kept.size());
    std::iota(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(count), 0u);
    return static_cast<uint32_t>(count);
  }
  if (!is_known(plan.rules.method)) return reference::nms(plan, candidates, kept, scratch);
  return HWY_DYNAMIC_DISPATCH(Suppress)(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
