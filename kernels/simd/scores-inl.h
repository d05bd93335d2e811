// SPDX-License-Identifier: LGPL-2.1-or-later
// Scores for vectors: activation, the best class of a row, and the anchors that pass. Compiled once
// per instruction set.
#if defined(KEEPBOX_SIMD_SCORES) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_SCORES
#undef KEEPBOX_SIMD_SCORES
#else
#define KEEPBOX_SIMD_SCORES
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/formula/score.h"
#include "kernels/simd/numeric-inl.h"
#include "kernels/simd/scores.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;

HWY_INLINE hn::Vec<Floats> Lowest() {
  return hn::Set(Floats(), -std::numeric_limits<float>::infinity());
}
HWY_INLINE hn::Vec<Ints> NoClass() { return hn::Set(Ints(), static_cast<int32_t>(kMaxClasses)); }

/// Updates best and class if the score is greater: the first of equal scores stays, NaN never wins.
template <class V, class I>
HWY_INLINE void update_best(V score, I class_id, V& best, I& best_class) {
  const auto wins = hn::Gt(score, best);
  best = hn::IfThenElse(wins, score, best);
  best_class = hn::IfThenElse(hn::RebindMask(hn::DFromV<I>(), wins), class_id, best_class);
}

/// Calls `each` with a value of the stored type.
template <class F>
HWY_INLINE auto WithType(DataType type, F each) {
  switch (type) {
    case DataType::kFloat16: return each(Half{});
    case DataType::kBFloat16: return each(BFloat{});
    case DataType::kInt8: return each(int8_t{});
    case DataType::kUInt8: return each(uint8_t{});
    case DataType::kInt16: return each(int16_t{});
    default: return each(float{});
  }
}

/// Dequantises: (stored - zero_point) * scale.
HWY_INLINE hn::Vec<Floats> Dequantized(const Column& column, hn::Vec<Floats> stored) {
  const Floats d;
  return hn::Mul(hn::Sub(stored, hn::Set(d, column.zero_point)), hn::Set(d, column.scale));
}

/// Converts a stored value of a column to float.
template <class T>
HWY_INLINE float DequantizedOf(const Column& column, T stored) {
  const float value = ToFloat(stored);
  return std::is_integral_v<T> ? (value - column.zero_point) * column.scale : value;
}
HWY_INLINE float DequantizedOf(const Column& column, bool integer, float stored) {
  return integer ? (stored - column.zero_point) * column.scale : stored;
}

/// Computes activate() of core/formula/coding.h. For softmax an upper bound: e^(best - largest) is
/// divided by a sum of at least 1.
HWY_INLINE hn::Vec<Floats> Activated(const ScoreRules& rules, hn::Vec<Floats> logit) {
  const Floats d;
  if (rules.activation == Activation::kNone) return logit;
  if (rules.activation == Activation::kSoftmax) return Exp(d, logit);
  const auto limit = hn::Set(d, rules.logit_limit), low = hn::Neg(limit);
  if (rules.logit_limit > 0) {  // NaN stays NaN
    logit = hn::IfThenElse(hn::Gt(logit, limit), limit, logit);
    logit = hn::IfThenElse(hn::Lt(logit, low), low, logit);
  }
  return Sigmoid(d, logit);
}

/// Computes combined() of core/formula/score.h.
HWY_INLINE hn::Vec<Floats> Combined(const ScoreRules& rules, hn::Vec<Floats> objectness,
                                    hn::Vec<Floats> score) {
  const Floats d;
  if (rules.rule == ScoreRule::kObjectness) return objectness;
  if (rules.rule != ScoreRule::kGeometricMean) return hn::Mul(objectness, score);
  const auto clamp = [&](auto x) HWY_ATTR {
    x = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    return hn::IfThenElse(hn::Gt(x, hn::Set(d, 1.0f)), hn::Set(d, 1.0f), x);
  };
  return hn::Sqrt(hn::Mul(clamp(objectness), clamp(score)));
}

/// Loads scores of a row for comparison: unchanged, or times the objectness if the best class is
/// that of the product.
template <bool kMultiply, class T>
HWY_INLINE hn::Vec<Floats> LoadScores(const Scores& scores, const T* at, size_t left,
                                      hn::Vec<Floats> factor) {
  const auto raw = LoadFloats(Floats(), at, left);
  if (!kMultiply) return raw;
  return hn::Mul(factor, Activated(scores.rules,
                                   std::is_integral_v<T> ? Dequantized(scores.classes, raw) : raw));
}

/// Returns the best of a range of classes of a row, with each score multiplied if required.
template <bool kMultiply, class T>
HWY_INLINE ScoredClass BestOfRow(const Scores& scores, const T* row, size_t first, size_t end,
                                 float factor) {
  const Floats d;
  const Ints di;
  const size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  auto best = Lowest();
  auto best_class = NoClass();
  for (size_t c = first; c < end; c += lanes) {
    const size_t left = end - c;
    auto score = LoadScores<kMultiply>(scores, row + c, left, by);
    if (left < lanes) score = hn::IfThenElse(hn::FirstN(d, left), score, Lowest());
    update_best(score, hn::Iota(di, static_cast<int32_t>(c)), best, best_class);
  }
  const float top = hn::ReduceMax(d, best);
  const auto equal = hn::RebindMask(di, hn::Eq(best, hn::Set(d, top)));
  const int32_t class_id = hn::ReduceMin(di, hn::IfThenElse(equal, best_class, NoClass()));
  return {top, static_cast<uint32_t>(class_id)};
}

/// Lists the anchors whose scores pass.
inline size_t List(const Scores& scores, size_t count, Block& block) {
  const Floats d;
  const Ints di;
  const auto threshold = hn::Set(d, scores.threshold);
  size_t passing = 0;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto score = hn::Load(d, block.best + i);
    auto pass =
        scores.contract.score_inclusive ? hn::Ge(score, threshold) : hn::Gt(score, threshold);
    pass = hn::And(pass, hn::FirstN(d, count - i));
    passing += hn::CompressStore(hn::Iota(di, static_cast<int32_t>(i)), hn::RebindMask(di, pass),
                                 di, block.passing + passing);
  }
  return passing;
}

/// Activates the best scores of a block and lists the anchors that pass.
inline size_t ActivateAndList(const Scores& scores, size_t count, Block& block) {
  const Floats d;
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    hn::Store(Activated(scores.rules, hn::Load(d, block.best + i)), d, block.best + i);
  return List(scores, count, block);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
