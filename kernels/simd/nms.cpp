// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of upright and of turned boxes.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/nms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <numeric>

#include "core/reference/reference.h"
#include "kernels/simd/greedy-inl.h"
#include "kernels/simd/turned-inl.h"
#include "kernels/simd/upright-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

uint32_t Greedy(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                const NmsScratch& scratch) {
  if (!plan.rules.turned)
    return suppress_greedily<UprightVectors>(plan, candidates, kept, scratch);
  return plan.rules.contract.turned == TurnedOverlap::kPolygon
             ? suppress_greedily<TurnedVectors<TurnedPolygon>>(plan, candidates, kept, scratch)
             : suppress_greedily<TurnedVectors<TurnedGaussian>>(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(Greedy);

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  if (plan.rules.method == NmsMethod::kNone && !plan.rules.limits_classes()) {
    const size_t count = std::min(candidates.size(), kept.size());
    std::iota(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(count), 0u);
    return static_cast<uint32_t>(count);
  }
  // Rules that few ask for are left to the reference.
  const bool known =
      plan.rules.method == NmsMethod::kGreedy || plan.rules.method == NmsMethod::kFast;
  if (!known || plan.rules.limits_classes() || plan.rules.contract.empty_overlap)
    return reference::nms(plan, candidates, kept, scratch);
  return HWY_DYNAMIC_DISPATCH(Greedy)(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
