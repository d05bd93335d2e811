// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: finds the anchors that pass and their classes with vectors, and lets core/judge.h decode
// those.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/decode.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/simd/planes-inl.h"
#include "kernels/simd/scores.h"
#include "kernels/simd/source.h"

#ifndef KEEPBOX_SIMD_DECODE_ONCE
#define KEEPBOX_SIMD_DECODE_ONCE
namespace keepbox::simd {

/// Rows ahead of the one that is read: objectness stands in a cache line of its own in each,
/// further apart than hardware fetches by itself. Fetching past the end does no harm.
inline constexpr size_t kAhead = 32;

/// Candidates ahead of the one whose box is read.
inline constexpr size_t kBoxesAhead = 16;

}  // namespace keepbox::simd
#endif  // KEEPBOX_SIMD_DECODE_ONCE

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// Best of some classes of a row, each score times `factor` first where that is wanted.
template <bool kMultiply, class T>
HWY_INLINE Verdict BestOfRow(const T* row, size_t first, size_t end, float factor) {
  const Floats d;
  const Ints di;
  const size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  auto best = Lowest();
  auto best_class = NoClass();
  for (size_t c = first; c < end; c += lanes) {
    const size_t left = end - c;
    auto score = LoadFloats(d, row + c, left);
    if (kMultiply) score = hn::Mul(score, by);
    if (left < lanes) score = hn::IfThenElse(hn::FirstN(d, left), score, Lowest());
    challenge(score, hn::Iota(di, static_cast<int32_t>(c)), best, best_class);
  }
  const float top = hn::ReduceMax(d, best);
  const auto equal = hn::RebindMask(di, hn::Eq(best, hn::Set(d, top)));
  const int32_t class_id = hn::ReduceMin(di, hn::IfThenElse(equal, best_class, NoClass()));
  return {top, static_cast<uint32_t>(class_id)};
}

/// Best scores and classes of rows; for softmax, how far the best is below the largest of all.
template <class T>
void BestOfRows(const Scores& scores, size_t first, size_t count, Block& block) {
  const T* row = static_cast<const T*>(scores.numbers) + first * scores.stride;
  for (size_t i = 0; i < count; ++i, row += scores.stride) {
    const auto best = BestOfRow<false>(row, scores.first_class, scores.end_class, 1.0f);
    block.best[i] = best.score;
    block.class_id[i] = static_cast<int32_t>(best.class_id);
    if (scores.rules.activation != Activation::kSoftmax) continue;
    const float background = std::max(
        BestOfRow<false>(row, 0, scores.first_class, 1.0f).score,
        BestOfRow<false>(row, scores.end_class, scores.all_classes, 1.0f).score);
    block.best[i] -= std::max(best.score, background);
  }
}

/// activate() of core/coding.h. Of softmax the most that it can be: e^(best - largest) is divided
/// by a sum of at least 1.
HWY_INLINE hn::Vec<Floats> Activated(const ScoreRules& rules, hn::Vec<Floats> logit) {
  const Floats d;
  if (rules.activation == Activation::kNone) return logit;
  if (rules.activation == Activation::kSoftmax) return Exp(d, logit);
  const auto limit = hn::Set(d, rules.logit_limit);
  if (rules.logit_limit > 0) logit = hn::Max(hn::Min(logit, limit), hn::Neg(limit));
  return Sigmoid(d, logit);
}

/// Turns the best of a block into scores and lists the anchors that pass.
size_t Pass(const Scores& scores, size_t count, Block& block) {
  const Floats d;
  const Ints di;
  const auto threshold = hn::Set(d, scores.threshold);
  size_t passing = 0;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto score = Activated(scores.rules, hn::Load(d, block.best + i));
    hn::Store(score, d, block.best + i);
    auto pass = scores.contract.score_inclusive ? hn::Ge(score, threshold)
                                                : hn::Gt(score, threshold);
    pass = hn::And(pass, hn::FirstN(d, count - i));
    passing += hn::CompressStore(hn::Iota(di, static_cast<int32_t>(i)),
                                 hn::RebindMask(di, pass), di, block.passing + passing);
  }
  return passing;
}

/// Rows with objectness: those without enough of it are not read any further.
template <bool kProduct, class T>
size_t PassWeighted(const Scores& scores, size_t first, size_t count, Block& block) {
  const T* objectness = static_cast<const T*>(scores.objectness) + first * scores.stride;
  const T* row = static_cast<const T*>(scores.numbers) + first * scores.stride;
  size_t passing = 0;
  for (size_t i = 0; i < count; ++i, objectness += scores.stride, row += scores.stride) {
    hwy::Prefetch(objectness + kAhead * scores.stride);
    const float factor = ToFloat(*objectness);
    if (!passes(factor, scores.threshold, scores.contract)) continue;
    const auto best = BestOfRow<kProduct>(row, scores.first_class, scores.end_class, factor);
    block.best[i] = kProduct ? best.score : factor * best.score;
    block.class_id[i] = static_cast<int32_t>(best.class_id);
    block.passing[passing++] = static_cast<int32_t>(i);
  }
  return passing;
}

template <class T>
size_t JudgeAs(const Scores& scores, size_t first, size_t count, Block& block) {
  if (scores.objectness != nullptr)
    return scores.rules.rule == ScoreRule::kProduct
               ? PassWeighted<true, T>(scores, first, count, block)
               : PassWeighted<false, T>(scores, first, count, block);
  if (scores.rows) BestOfRows<T>(scores, first, count, block);
  else if constexpr (sizeof(T) == sizeof(int16_t)) {
    if (scores.rules.activation == Activation::kNone) BestOfBits<T>(scores, first, count, block);
    else BestOfPlanes<T>(scores, first, count, block);
  } else BestOfPlanes<T>(scores, first, count, block);
  return Pass(scores, count, block);
}

/// Lists those of up to kBlock anchors that may pass, with their best class.
size_t Judge(const Scores& scores, size_t first, size_t count, Block& block) {
  switch (scores.type) {
    case DataType::kFloat16: return JudgeAs<Half>(scores, first, count, block);
    case DataType::kBFloat16: return JudgeAs<BFloat>(scores, first, count, block);
    default: return JudgeAs<float>(scores, first, count, block);
  }
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {
namespace {

HWY_EXPORT(Judge);

const void* start(const Field& field, std::span<const TensorView> tensors, uint32_t image) {
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  return static_cast<const std::byte*>(view.data) + field.at(image, 0) * size_of(view.type);
}

/// Scores that vectors can read, or nothing.
std::optional<Scores> scores_of(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image) {
  const Field &classes = plan.layout[Part::kScores], &objectness = plan.layout[Part::kObjectness];
  if (plan.rules.first_class >= plan.rules.end_class) return {};  // nothing but background
  if (!classes.present() || !plain(tensors[static_cast<size_t>(classes.tensor)])) return {};
  const Activation activation = plan.rules.scores.activation;
  const ScoreRule rule = plan.rules.scores.rule;
  const bool rows = classes.channel_stride == 1, weighted = objectness.present();
  if (!rows && (classes.anchor_stride != 1 || weighted || activation == Activation::kSoftmax))
    return {};
  if (weighted ? rule != ScoreRule::kProduct && rule != ScoreRule::kArgmaxFirst
               : rule != ScoreRule::kClass)
    return {};
  if (weighted && (activation != Activation::kNone || objectness.tensor != classes.tensor ||
                   objectness.anchor_stride != classes.anchor_stride))
    return {};
  return Scores{.numbers = start(classes, tensors, image),
                .objectness = weighted ? start(objectness, tensors, image) : nullptr,
                .type = tensors[static_cast<size_t>(classes.tensor)].type,
                .stride = rows ? classes.anchor_stride : classes.channel_stride,
                .rows = rows,
                .first_class = plan.rules.first_class,
                .end_class = plan.rules.end_class,
                .all_classes = plan.layout.classes,
                .rules = plan.rules.scores,
                .threshold = plan.rules.lowest_threshold,
                .contract = plan.rules.contract};
}

}  // namespace

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const auto scores = scores_of(plan, tensors, image);
  if (!scores) return decode_ready(plan, tensors, image, anchors, out, funnel);
  const Source from(plan, tensors, image);
  Collector collector(from, out, funnel);
  funnel.anchors = anchors.end - anchors.first;
  Block block;
  for (size_t first = anchors.first; first < anchors.end; first += kBlock) {
    const size_t count = std::min(kBlock, anchors.end - first);
    const size_t passing = HWY_DYNAMIC_DISPATCH(Judge)(*scores, first, count, block);
    for (size_t i = 0; i < passing; ++i) {
      if (i + kBoxesAhead < passing)
        from.fetch_box(static_cast<uint32_t>(first) +
                       static_cast<uint32_t>(block.passing[i + kBoxesAhead]));
      const auto at = static_cast<size_t>(block.passing[i]);
      const auto anchor = static_cast<uint32_t>(first + at);
      const auto class_id = static_cast<uint32_t>(block.class_id[at]);
      const bool settled =
          class_id < kMaxClasses && scores->rules.activation != Activation::kSoftmax;
      collector.take(anchor,
                     settled ? Verdict{block.best[at], class_id} : judge(from, anchor));
    }
  }
  return collector.count();
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
