// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: vectors find the anchors above the threshold and their classes, core/formula/score.h
// decodes them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "core/reference/backend.h"
#include "kernels/simd/backend.h"
#include "kernels/simd/scores.h"

namespace keepbox::simd {
namespace {

/// Prefetch distance in candidates, for their boxes.
constexpr size_t kBoxesAhead = 16;
/// Scores whose boxes are prefetched before they are added.
constexpr size_t kTaken = 64;

/// Lists the anchors of a block that may pass, with their best class.
size_t score_block(const Scores& scores, size_t first, size_t count, Block& block) {
  if (scores.objectness.data != nullptr) return score_weighted(scores, first, count, block);
  return (scores.rows ? score_rows : score_planes)(scores, first, count, block);
}

/// Returns values that vectors can read, or none. @param stride of the neighbouring values.
std::optional<Column> column_of(const Field& field, std::span<const TensorView> tensors,
                                uint32_t image, size_t stride) {
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  if (!plain(view) && !is_integer(view)) return {};
  return Column{
      .data = static_cast<const std::byte*>(view.data) + field.at(image, 0) * size_of(view.type),
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
  const auto values =
      column_of(classes, tensors, image, rows ? classes.anchor_stride : classes.channel_stride);
  const auto weights = weighted ? column_of(objectness, tensors, image, objectness.anchor_stride)
                                : std::optional<Column>(Column{});
  if (!values || !weights) return {};
  return Scores{.classes = *values,
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
  SegmentDecoder(const FieldReader& from, const Scores& scores, std::span<Candidate> out,
                 Funnel& funnel)
      : from_(from), scores_(scores), collector_(from, out, funnel) {}

  uint32_t decode(AnchorRange anchors, Block& block) {
    const uint32_t base = from_.segment().first;
    for (uint32_t first = anchors.first; first < anchors.end; first += kBlock) {
      const size_t count = std::min<size_t>(kBlock, anchors.end - first);
      if (takes_all_classes()) {
        first_ = first;
        take_all_classes(scores_, first - base, count, min_class_value(), take, this);
        add_taken();
        continue;
      }
      const size_t passing = score_block(scores_, first - base, count, block);
      add_passing(first, block, passing);
    }
    return collector_.count();
  }

 private:
  /// True if class scores are planes of float32 without objectness.
  bool plain_planes() const {
    return !scores_.rows && scores_.objectness.data == nullptr &&
           scores_.classes.type == DataType::kFloat32;
  }

  /// Returns the minimum raw value of a class in plain planes.
  float min_class_value() const {
    return scores_.rules.activation == Activation::kNone ? from_.rules.lowest_threshold
                                                         : scores_.min_logit;
  }

  /// @return the value of the first class for a block's first anchor
  const float* first_plane(uint32_t first) const {
    return static_cast<const float*>(scores_.classes.data) +
           scores_.first_class * scores_.classes.stride + (first - from_.segment().first);
  }

  /// True if all classes are visited at once. The means of bins cost more than a second pass.
  bool takes_all_classes() const {
    return from_.rules.multi_label && plain_planes() && from_.rules.boxes.bins <= 1;
  }

  /// Implements TakeScores.
  static void take(void* context, uint32_t class_id, std::span<const int32_t> at) {
    auto& self = *static_cast<SegmentDecoder*>(context);
    for (const int32_t each : at) {
      const uint32_t anchor = self.first_ + static_cast<uint32_t>(each);
      self.from_.prefetch_box(anchor);
      self.taken_[self.taken_count_++] = {anchor, class_id};
      if (self.taken_count_ == kTaken) self.add_taken();
    }
  }

  void add_taken() {
    for (size_t i = 0; i < taken_count_; ++i)
      collector_.add(taken_[i].anchor,
                     class_score(from_, taken_[i].anchor, {}, taken_[i].class_id));
    taken_count_ = 0;
  }

  /// Visits all classes of the anchors that may pass.
  void add_all_classes(uint32_t first, const Block& block, size_t passing) {
    const float min_value = min_class_value();
    for (size_t i = 0; i < passing; ++i) {
      const auto at = static_cast<uint32_t>(block.passing[i]);
      const float* number = first_plane(first) + at;
      for (uint32_t c = scores_.first_class; c < scores_.end_class; ++c) {
        if (*number >= min_value) collector_.add(first + at, class_score(from_, first + at, {}, c));
        number += scores_.classes.stride;
      }
    }
  }

  void add_passing(uint32_t first, const Block& block, size_t passing) {
    if (from_.rules.multi_label && plain_planes()) return add_all_classes(first, block, passing);
    const bool soft = from_.rules.scores.activation == Activation::kSoftmax;
    for (size_t i = 0; i < passing; ++i) {
      if (i + kBoxesAhead < passing)
        from_.prefetch_box(first + static_cast<uint32_t>(block.passing[i + kBoxesAhead]));
      const auto at = static_cast<size_t>(block.passing[i]);
      const auto anchor = first + static_cast<uint32_t>(at);
      const auto class_id = static_cast<uint32_t>(block.class_id[at]);
      if (from_.rules.multi_label) collector_.add(anchor);
      else if (class_id < kMaxClasses && !soft)
        collector_.add(anchor, ScoredClass{block.best[at], class_id});
      else collector_.add(anchor, best_of_anchor(from_, anchor));
    }
  }

  struct Taken {
    uint32_t anchor, class_id;
  };

  const FieldReader& from_;
  const Scores& scores_;
  Collector<FieldReader> collector_;
  uint32_t first_ = 0;  // anchor of the block
  size_t taken_count_ = 0;
  Taken taken_[kTaken];
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
    const auto rest = out.subspan(count);
    const auto scores = scores_of(plan, segment, tensors, image);
    if (!scores) {
      count += reference::decode(plan, tensors, image, part, rest, funnel);
      continue;
    }
    const FieldReader from(plan, segment, tensors, image);
    funnel.anchors += part.end - part.first;
    count += SegmentDecoder(from, *scores, rest, funnel).decode(part, block);
  }
  return count;
}

// End-to-end rows: most are below the threshold, and only their score is read.

uint32_t decode_ready(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                      AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const FieldReader from(plan, plan.layout.segments.front(), tensors, image);
  Collector candidates(from, out, funnel);
  const uint32_t end = std::min(anchors.end, anchors_of(from));
  funnel.anchors += end - std::min(anchors.first, end);
  for (uint32_t anchor = anchors.first; anchor < end; ++anchor) {
    const float score = from.get(FieldId::kScore, anchor);
    if (passes(score, plan.rules.lowest_threshold, plan.rules.contract))
      candidates.add(anchor, ready_score(from, anchor));
  }
  return candidates.count();
}

}  // namespace keepbox::simd
