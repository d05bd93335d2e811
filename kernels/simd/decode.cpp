// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: finds anchors above the threshold and their classes with vectors; core/formula/score.h
// decodes them.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/decode.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/reference/reference.h"
#include "kernels/simd/planes-inl.h"
#include "kernels/simd/scores.h"
#include "kernels/simd/source.h"

#ifndef KEEPBOX_SIMD_DECODE_ONCE
#define KEEPBOX_SIMD_DECODE_ONCE
namespace keepbox::simd {

/// Prefetch distance in rows: the objectness of each row is in a different cache line, further
/// apart than hardware prefetches. Prefetching past the end is harmless.
inline constexpr size_t kAhead = 32;

/// Prefetch distance in candidates, for their boxes.
inline constexpr size_t kBoxesAhead = 16;

}  // namespace keepbox::simd
#endif  // KEEPBOX_SIMD_DECODE_ONCE

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// activate() of core/formula/coding.h. For softmax an upper bound: e^(best - largest) is divided
/// by a sum of at least 1.
HWY_INLINE hn::Vec<Floats> Activated(const ScoreRules& rules, hn::Vec<Floats> logit) {
  const Floats d;
  if (rules.activation == Activation::kNone) return logit;
  if (rules.activation == Activation::kSoftmax) return Exp(d, logit);
  const auto limit = hn::Set(d, rules.logit_limit), least = hn::Neg(limit);
  if (rules.logit_limit > 0) {  // NaN stays NaN
    logit = hn::IfThenElse(hn::Gt(logit, limit), limit, logit);
    logit = hn::IfThenElse(hn::Lt(logit, least), least, logit);
  }
  return Sigmoid(d, logit);
}

/// combined() of core/formula/score.h.
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
  return hn::Mul(factor,
                 Activated(scores.rules, std::is_integral_v<T> ? Real(scores.classes, raw) : raw));
}

/// Returns the best of a range of classes of a row, with each score multiplied if required.
template <bool kMultiply, class T>
HWY_INLINE Verdict BestOfRow(const Scores& scores, const T* row, size_t first, size_t end,
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
    challenge(score, hn::Iota(di, static_cast<int32_t>(c)), best, best_class);
  }
  const float top = hn::ReduceMax(d, best);
  const auto equal = hn::RebindMask(di, hn::Eq(best, hn::Set(d, top)));
  const int32_t class_id = hn::ReduceMin(di, hn::IfThenElse(equal, best_class, NoClass()));
  return {top, static_cast<uint32_t>(class_id)};
}

/// Converts a stored value of a column to float.
template <class T>
HWY_INLINE float RealOf(const Column& column, T stored) {
  const float number = ToFloat(stored);
  return std::is_integral_v<T> ? (number - column.zero_point) * column.scale : number;
}
HWY_INLINE float RealOf(const Column& column, bool whole, float stored) {
  return whole ? (stored - column.zero_point) * column.scale : stored;
}

/// Computes best scores and classes of rows; for softmax, the difference to the largest logit.
template <class T>
void BestOfRows(const Scores& scores, size_t first, size_t count, Block& block) {
  const T* row = static_cast<const T*>(scores.classes.numbers) + first * scores.classes.stride;
  const bool whole = std::is_integral_v<T>;
  for (size_t i = 0; i < count; ++i, row += scores.classes.stride) {
    const auto best = BestOfRow<false>(scores, row, scores.first_class, scores.end_class, 1.0f);
    block.best[i] = RealOf(scores.classes, whole, best.score);
    block.class_id[i] = static_cast<int32_t>(best.class_id);
    if (scores.rules.activation != Activation::kSoftmax) continue;
    const float background =
        std::max(BestOfRow<false>(scores, row, 0, scores.first_class, 1.0f).score,
                 BestOfRow<false>(scores, row, scores.end_class, scores.all_classes, 1.0f).score);
    block.best[i] -= RealOf(scores.classes, whole, std::max(best.score, background));
  }
}

/// Lists the anchors whose scores pass.
size_t List(const Scores& scores, size_t count, Block& block) {
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
size_t Pass(const Scores& scores, size_t count, Block& block) {
  const Floats d;
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    hn::Store(Activated(scores.rules, hn::Load(d, block.best + i)), d, block.best + i);
  return List(scores, count, block);
}

/// Activates the objectness of a block's anchors.
template <class O>
void FillObjectness(const Scores& scores, size_t first, size_t count, Block& block) {
  const Floats d;
  const Column& from = scores.objectness;
  const O* numbers = static_cast<const O*>(from.numbers) + first * from.stride;
  if (from.stride == 1) {
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      const auto raw = LoadFloats(d, numbers + i, count - i);
      hn::Store(std::is_integral_v<O> ? Real(from, raw) : raw, d, block.objectness + i);
    }
  } else {
    for (size_t i = 0; i < count; ++i, numbers += from.stride)
      block.objectness[i] = RealOf(from, *numbers);
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
    challenge(LoadScores<kMultiply>(scores, plane + c * scores.classes.stride, left, objectness),
              hn::Set(di, static_cast<int32_t>(c)), best, best_class);
  if (!kMultiply) {
    if (std::is_integral_v<T>) best = Real(scores.classes, best);
    best = Combined(scores.rules, objectness, Activated(scores.rules, best));
  }
  hn::Store(best, d, best_at);
  hn::Store(best_class, di, class_at);
}

/// Checks the objectness first, then the classes of anchors with enough objectness.
template <bool kMultiply, class T>
size_t PassWeighted(const Scores& scores, size_t first, size_t count, Block& block) {
  const Floats d;
  const T* numbers = static_cast<const T*>(scores.classes.numbers);
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
      BestWeighted<kMultiply>(scores, numbers + first + i, left, objectness, block.best + i,
                              block.class_id + i);
    } else {
      HWY_ALIGN float bests[hn::MaxLanes(d)] = {};
      for (size_t lane = 0; lane < hn::Lanes(d) && lane < left; ++lane) {
        const T* row = numbers + (first + i + lane) * scores.classes.stride;
        const Verdict best = BestOfRow<kMultiply>(scores, row, scores.first_class, scores.end_class,
                                                  block.objectness[i + lane]);
        bests[lane] = RealOf(scores.classes, !kMultiply && std::is_integral_v<T>, best.score);
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
  const T* objectness = static_cast<const T*>(scores.objectness.numbers) + first * stride;
  const T* row = static_cast<const T*>(scores.classes.numbers) + first * stride;
  const bool logits = scores.rules.activation != Activation::kNone;
  size_t passing = 0;
  for (size_t i = 0; i < count; ++i, objectness += stride, row += stride) {
    hwy::Prefetch(objectness + kAhead * stride);
    float factor = RealOf(scores.objectness, *objectness);
    if (logits) {
      if (factor < scores.min_logit) continue;
      factor = activate(scores.rules, factor);
    }
    if (!passes(factor, scores.threshold, scores.contract)) continue;
    const auto best =
        BestOfRow<kMultiply>(scores, row, scores.first_class, scores.end_class, factor);
    const float real = RealOf(scores.classes, !kMultiply && std::is_integral_v<T>, best.score);
    block.best[i] = kMultiply ? best.score : factor * activate(scores.rules, real);
    block.class_id[i] = static_cast<int32_t>(best.class_id);
    block.passing[passing++] = static_cast<int32_t>(i);
  }
  return passing;
}

template <class T>
size_t JudgeWeighted(const Scores& scores, size_t first, size_t count, Block& block) {
  const bool multiply = scores.rules.rule == ScoreRule::kProduct;
  if (scores.rows && scores.needs_object() && scores.rules.rule != ScoreRule::kObjectness &&
      scores.objectness.type == scores.classes.type &&
      scores.objectness.stride == scores.classes.stride)
    return multiply ? PassRows<true, T>(scores, first, count, block)
                    : PassRows<false, T>(scores, first, count, block);
  switch (scores.objectness.type) {
    case DataType::kFloat16: FillObjectness<Half>(scores, first, count, block); break;
    case DataType::kBFloat16: FillObjectness<BFloat>(scores, first, count, block); break;
    case DataType::kInt8: FillObjectness<int8_t>(scores, first, count, block); break;
    case DataType::kUInt8: FillObjectness<uint8_t>(scores, first, count, block); break;
    case DataType::kInt16: FillObjectness<int16_t>(scores, first, count, block); break;
    default: FillObjectness<float>(scores, first, count, block);
  }
  return multiply ? PassWeighted<true, T>(scores, first, count, block)
                  : PassWeighted<false, T>(scores, first, count, block);
}

template <class T>
size_t JudgeAs(const Scores& scores, size_t first, size_t count, Block& block) {
  constexpr bool kBits = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
  if (scores.objectness.numbers != nullptr) return JudgeWeighted<T>(scores, first, count, block);
  if (scores.rows) BestOfRows<T>(scores, first, count, block);
  else if constexpr (std::is_integral_v<T>) BestOfWhole<T>(scores, first, count, block);
  else if constexpr (kBits) {
    if (scores.rules.activation == Activation::kNone) BestOfBits<T>(scores, first, count, block);
    else BestOfPlanes<T>(scores, first, count, block);
  } else BestOfPlanes<T>(scores, first, count, block);
  return Pass(scores, count, block);
}

/// Lists those of up to kBlock anchors that may pass, with their best class.
size_t Judge(const Scores& scores, size_t first, size_t count, Block& block) {
  switch (scores.classes.type) {
    case DataType::kFloat16: return JudgeAs<Half>(scores, first, count, block);
    case DataType::kBFloat16: return JudgeAs<BFloat>(scores, first, count, block);
    case DataType::kInt8: return JudgeAs<int8_t>(scores, first, count, block);
    case DataType::kUInt8: return JudgeAs<uint8_t>(scores, first, count, block);
    case DataType::kInt16: return JudgeAs<int16_t>(scores, first, count, block);
    default: return JudgeAs<float>(scores, first, count, block);
  }
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {
namespace {

HWY_EXPORT(Judge);

/// Returns values that vectors can read, or none. @param stride of the neighbouring values.
std::optional<Column> column_of(const Field& field, std::span<const TensorView> tensors,
                                uint32_t image, size_t stride) {
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  if (!plain(view) && !whole(view)) return {};
  return Column{
      .numbers = static_cast<const std::byte*>(view.data) + field.at(image, 0) * size_of(view.type),
      .type = view.type,
      .stride = stride,
      .scale = view.scale,
      .zero_point = view.zero_point};
}

/// Returns a logit certainly below those whose sigmoid passes: the margin exceeds the error of the
/// sigmoid where the curve is steep enough.
float min_logit_of(const ScoreRules& rules, float threshold) {
  constexpr float kFlat = 1e-4f, kMargin = 1e-2f;
  const bool steep = threshold > kFlat && threshold < 1 - 10 * kFlat;
  if (rules.activation != Activation::kSigmoid || rules.logit_limit > 0 || !steep)
    return -std::numeric_limits<float>::infinity();
  return std::log(threshold / (1 - threshold)) - kMargin;
}

/// Returns the scores of a segment that vectors can read, or nothing.
std::optional<Scores> scores_of(const Plan& plan, const Segment& segment,
                                std::span<const TensorView> tensors, uint32_t image) {
  const Field &classes = segment[FieldId::kScores], &objectness = segment[FieldId::kObjectness];
  if (plan.rules.first_class >= plan.rules.end_class) return {};  // only background
  if (!classes.present() || segment[FieldId::kIndices].present()) return {};
  const ScoreRules& rules = plan.rules.scores;
  if (plan.rules.multi_label && !best_decides(plan.rules)) return {};
  const bool rows = classes.channel_stride == 1 && classes.anchor_stride != 1;
  const bool weighted = objectness.present(), soft = rules.activation == Activation::kSoftmax;
  if (!rows && (classes.anchor_stride != 1 || soft)) return {};
  if (weighted ? rules.rule == ScoreRule::kClass || soft : rules.rule != ScoreRule::kClass)
    return {};
  const auto numbers =
      column_of(classes, tensors, image, rows ? classes.anchor_stride : classes.channel_stride);
  const auto weights = weighted ? column_of(objectness, tensors, image, objectness.anchor_stride)
                                : std::optional<Column>(Column{});
  if (!numbers || !weights) return {};
  return Scores{.classes = *numbers,
                .objectness = *weights,
                .rows = rows,
                .first_class = plan.rules.first_class,
                .end_class = plan.rules.end_class,
                .all_classes = plan.layout.classes,
                .rules = rules,
                .threshold = min_best(plan.rules),
                .min_logit = min_logit_of(rules, plan.rules.lowest_threshold),
                .contract = plan.rules.contract};
}

/// Decodes a range of anchors of a segment. Blocks count from its first anchor.
class SegmentDecoder {
 public:
  SegmentDecoder(const Source& from, const Scores& scores, std::span<Candidate> out, Funnel& funnel)
      : from_(from), scores_(scores), collector_(from, out, funnel) {}

  uint32_t decode(AnchorRange anchors, Block& block) {
    const uint32_t base = from_.segment().first;
    for (uint32_t first = anchors.first; first < anchors.end; first += kBlock) {
      const size_t count = std::min<size_t>(kBlock, anchors.end - first);
      const size_t passing = HWY_DYNAMIC_DISPATCH(Judge)(scores_, first - base, count, block);
      take(first, block, passing);
    }
    return collector_.count();
  }

 private:
  /// True if class scores are planes of float32 without objectness.
  bool plain_planes() const {
    return !scores_.rows && scores_.objectness.numbers == nullptr &&
           scores_.classes.type == DataType::kFloat32;
  }

  /// Returns the minimum raw value of a class in plain planes.
  float min_label() const {
    return scores_.rules.activation == Activation::kNone ? from_.rules.lowest_threshold
                                                         : scores_.min_logit;
  }

  /// @return the value of the first class for a block's first anchor
  const float* first_plane(uint32_t first) const {
    return static_cast<const float*>(scores_.classes.numbers) +
           scores_.first_class * scores_.classes.stride + (first - from_.segment().first);
  }

  /// Visits all classes of the anchors that may pass, plane by plane because each has its own
  /// pages.
  void take_labels(uint32_t first, const Block& block, size_t passing) {
    const float least = min_label();
    const float* plane = first_plane(first);
    for (uint32_t c = scores_.first_class; c < scores_.end_class; ++c) {
      for (size_t i = 0; i < passing; ++i) {
        const auto at = static_cast<uint32_t>(block.passing[i]);
        if (plane[at] < least) continue;
        collector_.take(first + at, label(from_, first + at, {}, c));
      }
      plane += scores_.classes.stride;
    }
  }

  /// Visits them anchor by anchor, because the means of bins cost more than page misses.
  void take_binned_labels(uint32_t first, const Block& block, size_t passing) {
    const float least = min_label();
    for (size_t i = 0; i < passing; ++i) {
      const auto at = static_cast<uint32_t>(block.passing[i]);
      const float* number = first_plane(first) + at;
      for (uint32_t c = scores_.first_class; c < scores_.end_class; ++c) {
        if (*number >= least) collector_.take(first + at, label(from_, first + at, {}, c));
        number += scores_.classes.stride;
      }
    }
  }

  void take(uint32_t first, const Block& block, size_t passing) {
    if (from_.rules.multi_label && plain_planes())
      return from_.rules.boxes.bins > 1 ? take_binned_labels(first, block, passing)
                                        : take_labels(first, block, passing);
    const bool soft = from_.rules.scores.activation == Activation::kSoftmax;
    for (size_t i = 0; i < passing; ++i) {
      if (i + kBoxesAhead < passing)
        from_.fetch_box(first + static_cast<uint32_t>(block.passing[i + kBoxesAhead]));
      const auto at = static_cast<size_t>(block.passing[i]);
      const auto anchor = first + static_cast<uint32_t>(at);
      const auto class_id = static_cast<uint32_t>(block.class_id[at]);
      if (from_.rules.multi_label) collector_.take(anchor);
      else if (class_id < kMaxClasses && !soft)
        collector_.take(anchor, Verdict{block.best[at], class_id});
      else collector_.take(anchor, judge(from_, anchor));
    }
  }

  const Source& from_;
  const Scores& scores_;
  Collector<Source> collector_;
};

}  // namespace

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  if (!plan.layout[FieldId::kScores].present())
    return decode_ready(plan, tensors, image, anchors, out, funnel);
  uint32_t count = 0;
  Block block;
  for (const Segment& segment : plan.layout.segments) {
    const AnchorRange part{std::max(anchors.first, segment.first),
                           std::min(anchors.end, segment.first + segment.count)};
    if (part.end <= part.first) continue;
    const auto room = out.subspan(count);
    const auto scores = scores_of(plan, segment, tensors, image);
    if (!scores) {
      count += reference::decode(plan, tensors, image, part, room, funnel);
      continue;
    }
    const Source from(plan, segment, tensors, image);
    funnel.anchors += part.end - part.first;
    count += SegmentDecoder(from, *scores, room, funnel).decode(part, block);
  }
  return count;
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
