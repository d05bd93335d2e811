// SPDX-License-Identifier: LGPL-2.1-or-later
// Class scores with objectness, in planes or rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/objectness.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "kernels/simd/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// Prefetch distance in rows: the objectness of each row is in a different cache line, further
/// apart than hardware prefetches. Prefetching past the end is harmless.
inline constexpr size_t kAhead = 32;

/// Activates the objectness of a block's anchors.
template <class O>
void FillObjectness(const Scores& scores, size_t first, size_t count, Block& block) {
  const Floats d;
  const Column& from = scores.objectness;
  const O* values = static_cast<const O*>(from.data) + first * from.stride;
  if (from.stride == 1) {
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      const auto raw = LoadFloats(d, values + i, count - i);
      hn::Store(std::is_integral_v<O> ? Dequantized(from, raw) : raw, d, block.objectness + i);
    }
  } else {
    for (size_t i = 0; i < count; ++i, values += from.stride)
      block.objectness[i] = DequantizedOf(from, *values);
  }
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    hn::Store(Activated(scores.rules, hn::Load(d, block.objectness + i)), d, block.objectness + i);
}

/// Returns the best class for a vector of anchors in planes, with their objectness.
template <bool kMultiply, class T>
HWY_INLINE void BestWeighted(const Scores& scores, const T* plane, size_t left,
                             hn::Vec<Floats> objectness, float* best_at, int32_t* class_at) {
  const Floats d;
  const Ints di;
  auto best = Lowest();
  auto best_class = NoClass();
  for (uint32_t c = scores.first_class; c < scores.end_class; ++c)
    update_best(LoadScores<kMultiply>(scores, plane + c * scores.classes.stride, left, objectness),
                hn::Set(di, static_cast<int32_t>(c)), best, best_class);
  if (!kMultiply) {
    if (std::is_integral_v<T>) best = Dequantized(scores.classes, best);
    best = Combined(scores.rules, objectness, Activated(scores.rules, best));
  }
  hn::Store(best, d, best_at);
  hn::Store(best_class, di, class_at);
}

/// Checks the objectness first, then the classes of anchors with enough objectness.
template <bool kMultiply, class T>
size_t PassWeighted(const Scores& scores, size_t first, size_t count, Block& block) {
  const Floats d;
  const T* values = static_cast<const T*>(scores.classes.data);
  const auto threshold = hn::Set(d, scores.threshold);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto objectness = hn::Load(d, block.objectness + i);
    auto pass = scores.contract.score_inclusive ? hn::Ge(objectness, threshold)
                                                : hn::Gt(objectness, threshold);
    if (!scores.needs_object()) pass = hn::FirstN(d, hn::Lanes(d));
    if (hn::AllFalse(d, hn::And(pass, hn::FirstN(d, count - i)))) {
      hn::Store(Lowest(), d, block.best + i);
      continue;
    }
    const size_t left = count - i;
    if (!scores.rows) {
      BestWeighted<kMultiply>(scores, values + first + i, left, objectness, block.best + i,
                              block.class_id + i);
    } else {
      HWY_ALIGN float bests[hn::MaxLanes(d)] = {};
      for (size_t lane = 0; lane < hn::Lanes(d) && lane < left; ++lane) {
        const T* row = values + (first + i + lane) * scores.classes.stride;
        const ScoredClass best = BestOfRow<kMultiply>(scores, row, scores.first_class,
                                                      scores.end_class, block.objectness[i + lane]);
        bests[lane] =
            DequantizedOf(scores.classes, !kMultiply && std::is_integral_v<T>, best.score);
        block.class_id[i + lane] = static_cast<int32_t>(best.class_id);
      }
      auto best = hn::Load(d, bests);
      if (!kMultiply) best = Combined(scores.rules, objectness, Activated(scores.rules, best));
      hn::Store(best, d, block.best + i);
    }
    hn::Store(hn::IfThenElse(pass, hn::Load(d, block.best + i), Lowest()), d, block.best + i);
  }
  return List(scores, count, block);
}

/// Checks objectness and class scores in rows: rows without enough objectness are not read further.
template <bool kMultiply, class T>
size_t PassRows(const Scores& scores, size_t first, size_t count, Block& block) {
  const size_t stride = scores.classes.stride;
  const T* objectness = static_cast<const T*>(scores.objectness.data) + first * stride;
  const T* row = static_cast<const T*>(scores.classes.data) + first * stride;
  const bool logits = scores.rules.activation != Activation::kNone;
  size_t passing = 0;
  for (size_t i = 0; i < count; ++i, objectness += stride, row += stride) {
    hwy::Prefetch(objectness + kAhead * stride);
    float factor = DequantizedOf(scores.objectness, *objectness);
    if (logits) {
      if (factor < scores.min_logit) continue;
      factor = activate(scores.rules, factor);
    }
    if (!passes(factor, scores.threshold, scores.contract)) continue;
    const auto best =
        BestOfRow<kMultiply>(scores, row, scores.first_class, scores.end_class, factor);
    const float real =
        DequantizedOf(scores.classes, !kMultiply && std::is_integral_v<T>, best.score);
    block.best[i] = kMultiply ? best.score : factor * activate(scores.rules, real);
    block.class_id[i] = static_cast<int32_t>(best.class_id);
    block.passing[passing++] = static_cast<int32_t>(i);
  }
  return passing;
}

template <class T>
size_t PassAs(const Scores& scores, size_t first, size_t count, Block& block) {
  const bool multiply = scores.rules.rule == ScoreRule::kProduct;
  if (scores.rows && scores.needs_object() && scores.rules.rule != ScoreRule::kObjectness &&
      scores.objectness.type == scores.classes.type &&
      scores.objectness.stride == scores.classes.stride)
    return multiply ? PassRows<true, T>(scores, first, count, block)
                    : PassRows<false, T>(scores, first, count, block);
  WithType(scores.objectness.type, [&](auto stored) HWY_ATTR {
    FillObjectness<decltype(stored)>(scores, first, count, block);
  });
  return multiply ? PassWeighted<true, T>(scores, first, count, block)
                  : PassWeighted<false, T>(scores, first, count, block);
}

size_t ScoreWeighted(const Scores& scores, size_t first, size_t count, Block& block) {
  return WithType(scores.classes.type, [&](auto stored) HWY_ATTR {
    return PassAs<decltype(stored)>(scores, first, count, block);
  });
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(ScoreWeighted);

size_t score_weighted(const Scores& scores, size_t first, size_t count, Block& block) {
  return HWY_DYNAMIC_DISPATCH(ScoreWeighted)(scores, first, count, block);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
