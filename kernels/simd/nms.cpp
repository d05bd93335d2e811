// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression: each kept box strikes the candidates that it overlaps.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/nms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/reference/reference.h"
#include "kernels/simd/crowd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// The best are looked at first, as many as are likely to fill the limit, then all others.
uint32_t Greedy(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                const NmsScratch& scratch) {
  Crowd crowd(plan, scratch);
  size_t number = 0, first = 0, wanted = 4 * kept.size();
  while (first < candidates.size() && number < kept.size()) {
    const auto some = candidates.subspan(first, std::min(wanted, candidates.size() - first));
    crowd.gather(some);
    for (const uint32_t k : kept.first(number)) crowd.strike(candidates[k]);
    for (size_t i = 0; i < some.size() && number < kept.size(); ++i) {
      if (!crowd.alive(i)) continue;
      kept[number++] = static_cast<uint32_t>(first + i);
      crowd.strike(some[i]);
    }
    first += some.size();
    wanted = candidates.size();
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
  return HWY_DYNAMIC_DISPATCH(Greedy)(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
