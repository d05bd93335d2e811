// SPDX-License-Identifier: LGPL-2.1-or-later
// All class scores in planes that may pass, without objectness: one pass that compares, while the
// best class of an anchor would have to be followed by a second one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/allclasses.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/planes-inl.h"
#include "kernels/simd/scores.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// Scores to take, of anchors that count from a block's first one.
struct Wanted {
  float min_value;
  TakeScores take;
  void* context;
};

/// Takes the scores of a vector of anchors in kPlanes classes, of which few contain any.
template <size_t kPlanes>
HWY_INLINE void TakeVector(const float* plane, size_t stride, uint32_t class_id, size_t i,
                           size_t left, const Wanted& wanted) {
  const Floats d;
  const Ints di;
  const auto least = hn::Set(d, wanted.min_value);
  const auto passing = [&](size_t k) HWY_ATTR {
    return hn::Ge(LoadFloats(d, plane + k * stride + i, left), least);
  };
  auto any = passing(0);
  HWY_UNROLL(8)
  for (size_t k = 1; k < kPlanes; ++k) any = hn::Or(any, passing(k));
  const auto inside = hn::FirstN(d, left);
  if (HWY_LIKELY(hn::AllFalse(d, hn::And(any, inside)))) return;
  HWY_ALIGN int32_t places[hn::MaxLanes(di)];
  for (size_t k = 0; k < kPlanes; ++k) {
    const auto mask = hn::RebindMask(di, hn::And(passing(k), inside));
    const size_t count = hn::CompressStore(hn::Iota(di, static_cast<int32_t>(i)), mask, di, places);
    if (count > 0)
      wanted.take(wanted.context, class_id + static_cast<uint32_t>(k), {places, count});
  }
}

template <size_t kPlanes>
void TakePlanes(const float* plane, size_t stride, uint32_t class_id, size_t count,
                const Wanted& wanted) {
  SweepLines<kPlanes>(plane, stride, count, hn::Lanes(Floats()),
                      [&](size_t i, size_t left) HWY_ATTR {
                        TakeVector<kPlanes>(plane, stride, class_id, i, left, wanted);
                      });
}

void TakeAllClasses(const Scores& scores, size_t first, size_t count, float min_value,
                    TakeScores take, void* context) {
  const Wanted wanted{min_value, take, context};
  const size_t stride = scores.classes.stride;
  uint32_t c = scores.first_class;
  const float* plane = static_cast<const float*>(scores.classes.data) + c * stride + first;
  for (; c + 8 <= scores.end_class; c += 8, plane += 8 * stride)
    TakePlanes<8>(plane, stride, c, count, wanted);
  for (; c < scores.end_class; ++c, plane += stride) TakePlanes<1>(plane, stride, c, count, wanted);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(TakeAllClasses);

void take_all_classes(const Scores& scores, size_t first, size_t count, float min_value,
                      TakeScores take, void* context) {
  HWY_DYNAMIC_DISPATCH(TakeAllClasses)(scores, first, count, min_value, take, context);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
