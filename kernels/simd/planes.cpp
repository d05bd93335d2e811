// SPDX-License-Identifier: LGPL-2.1-or-later
// Class scores in planes, without objectness.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "kernels/simd/planes-inl.h"
#include "kernels/simd/scores.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

template <class T>
void BestOf(const Scores& scores, size_t first, size_t count, Block& block) {
  constexpr bool kBits = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
  if constexpr (std::is_integral_v<T>) BestOfIntegers<T>(scores, first, count, block);
  else if constexpr (kBits) {
    if (scores.rules.activation == Activation::kNone) BestOfBits<T>(scores, first, count, block);
    else BestOfPlanes<T>(scores, first, count, block);
  } else BestOfPlanes<T>(scores, first, count, block);
}

size_t ScorePlanes(const Scores& scores, size_t first, size_t count, Block& block) {
  WithType(scores.classes.type,
           [&](auto stored) HWY_ATTR { BestOf<decltype(stored)>(scores, first, count, block); });
  return ActivateAndList(scores, count, block);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(ScorePlanes);

size_t score_planes(const Scores& scores, size_t first, size_t count, Block& block) {
  return HWY_DYNAMIC_DISPATCH(ScorePlanes)(scores, first, count, block);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
