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

size_t ListFrom(const float* values, size_t count, float min_value, int32_t* out) {
  const Floats d;
  const Ints di;
  const auto least = hn::Set(d, min_value);
  size_t listed = 0;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto passes = hn::Ge(LoadFloats(d, values + i, count - i), least);
    if (hn::AllFalse(d, passes)) continue;
    const auto inside = hn::And(hn::RebindMask(di, passes), hn::FirstN(di, count - i));
    listed += hn::CompressStore(hn::Iota(di, static_cast<int32_t>(i)), inside, di, out + listed);
  }
  return listed;
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(ScorePlanes);
HWY_EXPORT(ListFrom);

size_t score_planes(const Scores& scores, size_t first, size_t count, Block& block) {
  return HWY_DYNAMIC_DISPATCH(ScorePlanes)(scores, first, count, block);
}

size_t list_from(const float* values, size_t count, float min_value, int32_t* out) {
  return HWY_DYNAMIC_DISPATCH(ListFrom)(values, count, min_value, out);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
