// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of upright and oriented boxes.
#include "kernels/simd/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/nms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <numeric>

#include "core/formula/oriented.h"
#include "core/model/nms_methods.h"
#include "core/reference/backend.h"
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

/// Vector code of a geometry.
template <class Geometry>
struct VectorsOf {
  using Type = OrientedVectors<Geometry>;
};
template <>
struct VectorsOf<Upright> {
  using Type = UprightVectors;
};

uint32_t Suppress(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  return with_geometry(plan.rules, [&]<class Geometry>() {
    return suppress<typename VectorsOf<Geometry>::Type>(plan, candidates, kept, scratch);
  });
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(Suppress);

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  if (plan.rules.method == NmsMethod::kNone && !plan.rules.limits_classes()) {
    const size_t count = std::min(candidates.size(), kept.size());
    std::iota(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(count), 0u);
    return static_cast<uint32_t>(count);
  }
  // Exact methods keep the same boxes and share one.
  if (traits_of(plan.rules.method).scratch != HostScratch::kGrid)
    return reference::nms(plan, candidates, kept, scratch);
  return HWY_DYNAMIC_DISPATCH(Suppress)(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
