// SPDX-License-Identifier: LGPL-2.1-or-later
// Class scores in rows, without objectness.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "kernels/simd/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// Computes best scores and classes of rows; for softmax, the difference to the largest logit.
template <class T>
void BestOfRows(const Scores& scores, size_t first, size_t count, Block& block) {
  const T* row = static_cast<const T*>(scores.classes.data) + first * scores.classes.stride;
  const bool integer = std::is_integral_v<T>;
  for (size_t i = 0; i < count; ++i, row += scores.classes.stride) {
    const auto best = BestOfRow<false>(scores, row, scores.first_class, scores.end_class, 1.0f);
    block.best[i] = DequantizedOf(scores.classes, integer, best.score);
    block.class_id[i] = static_cast<int32_t>(best.class_id);
    if (scores.rules.activation != Activation::kSoftmax) continue;
    const float background =
        std::max(BestOfRow<false>(scores, row, 0, scores.first_class, 1.0f).score,
                 BestOfRow<false>(scores, row, scores.end_class, scores.all_classes, 1.0f).score);
    block.best[i] -= DequantizedOf(scores.classes, integer, std::max(best.score, background));
  }
}

size_t ScoreRows(const Scores& scores, size_t first, size_t count, Block& block) {
  WithType(scores.classes.type, [&](auto stored) HWY_ATTR {
    BestOfRows<decltype(stored)>(scores, first, count, block);
  });
  return ActivateAndList(scores, count, block);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(ScoreRows);

size_t score_rows(const Scores& scores, size_t first, size_t count, Block& block) {
  return HWY_DYNAMIC_DISPATCH(ScoreRows)(scores, first, count, block);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
