// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes scores and classes from raw values: templates over an AnchorReader.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "core/formula/box.h"
#include "core/formula/coding.h"
#include "core/formula/rules.h"

namespace keepbox {

/// Reads the values of one image of a batch as floats.
template <class T>
concept AnchorReader = requires(const T& from, FieldId field, uint32_t anchor, uint32_t channel) {
  { from.rules } -> std::convertible_to<const Rules&>;
  { from.tables } -> std::convertible_to<const Tables&>;
  { from.image } -> std::convertible_to<uint32_t>;  // index in the batch
  { from.has(field) } -> std::same_as<bool>;
  { from.get(field, anchor) } -> std::same_as<float>;  // of the first channel
  { from.get(field, anchor, channel) } -> std::same_as<float>;
};

/// Best class of an anchor; kMaxClasses if there is none, which passes no threshold.
struct ScoredClass {
  float score = -std::numeric_limits<float>::infinity();
  uint32_t class_id = kMaxClasses;
};

/// Returns the best of the classes first, first + step, ... after the background: the first of
/// equal scores; NaN is never best. The score is activated only if the rule multiplies before the
/// choice.
template <AnchorReader Values>
KB_HD_NOINLINE ScoredClass best_class(const Values& from, uint32_t anchor, float objectness,
                                      uint32_t first = 0, uint32_t step = 1) {
  const Rules& rules = from.rules;
  const bool product = rules.scores.rule == ScoreRule::kProduct;
  ScoredClass best;
  for (uint32_t c = rules.first_class + first; c < rules.end_class; c += step) {
    const float raw = from.get(FieldId::kScores, anchor, c);
    const float value = product ? objectness * activate(rules.scores, raw) : raw;
    if (best.class_id != kMaxClasses ? value > best.score : value == value) best = {value, c};
  }
  return best;
}

/// Returns the largest logit of all classes, background included, or `best` if that is larger.
template <AnchorReader Values>
KB_HD float largest_logit(const Values& from, uint32_t anchor, float best, uint32_t first = 0,
                          uint32_t step = 1) {
  for (uint32_t c = first; c < from.rules.classes; c += step) {
    const float logit = from.get(FieldId::kScores, anchor, c);
    if (logit > best) best = logit;
  }
  return best;
}

/// Returns the softmax of a logit over all classes, background included, summed in class order. It
/// is at most e^(logit - largest) because the sum is at least 1.
template <AnchorReader Values>
KB_HD_NOINLINE float softmax(const Values& from, uint32_t anchor, float logit, float largest) {
  float sum = 0;
  for (uint32_t c = 0; c < from.rules.classes; ++c)
    sum = sum + exp_f32(from.get(FieldId::kScores, anchor, c) - largest);
  return exp_f32(logit - largest) / sum;
}

KB_HD inline float in_0_to_1(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

/// Combines an activated class score with the objectness.
KB_HD inline float combined(const ScoreRules& rules, float objectness, float score) {
  switch (rules.rule) {
    case ScoreRule::kClass: return score;
    case ScoreRule::kObjectness: return objectness;
    case ScoreRule::kGeometricMean: return square_root(in_0_to_1(objectness) * in_0_to_1(score));
    case ScoreRule::kProduct:
    case ScoreRule::kArgmaxFirst: break;
  }
  return objectness * score;
}

/// Finalises the best class: activation, then objectness.
/// @param largest logit of all classes; only for softmax.
template <AnchorReader Values>
KB_HD ScoredClass final_score(const Values& from, uint32_t anchor, ScoredClass best,
                              float objectness, float largest) {
  const ScoreRules& rules = from.rules.scores;
  if (best.class_id == kMaxClasses || rules.rule == ScoreRule::kProduct) return best;
  best.score =
      combined(rules, objectness,
               rules.activation == Activation::kSoftmax ? softmax(from, anchor, best.score, largest)
                                                        : activate(rules, best.score));
  return best;
}

/// Returns the activated objectness, or 1 if the family has none.
template <AnchorReader Values>
KB_HD float objectness_of(const Values& from, uint32_t anchor) {
  if (!from.has(FieldId::kObjectness)) return 1.0f;
  return activate(from.rules.scores, from.get(FieldId::kObjectness, anchor));
}

/// True if the objectness alone passes, as YOLOv5's code requires. Always true for the geometric
/// mean, which may be above the objectness.
template <AnchorReader Values>
KB_HD bool is_object(const Values& from, float objectness) {
  return !from.has(FieldId::kObjectness) || from.rules.scores.rule == ScoreRule::kGeometricMean ||
         passes(objectness, from.rules.lowest_threshold, from.rules.contract);
}

/// Returns index `which` of a row, or `none` if it is not an integer in [0, none).
template <AnchorReader Values>
KB_HD uint32_t index_of(const Values& from, uint32_t row, uint32_t which, uint32_t none) {
  const float value = from.get(FieldId::kIndices, row, which);
  return value >= 0.0f && value < static_cast<float>(none) ? static_cast<uint32_t>(value) : none;
}

/// Returns the anchor that a row refers to: the row itself unless rows have indices.
template <AnchorReader Values>
KB_HD uint32_t anchor_of(const Values& from, uint32_t row) {
  return from.has(FieldId::kIndices) ? index_of(from, row, 2, from.rules.indexed) : row;
}

/// Returns score and class of a row of indices; none for rows of another image, and for rows with
/// an invalid anchor or class or the background.
template <AnchorReader Values>
KB_HD_NOINLINE ScoredClass indexed_score(const Values& from, uint32_t row) {
  const Rules& rules = from.rules;
  const uint32_t image = index_of(from, row, 0, kMaxAnchors);
  const uint32_t class_id = index_of(from, row, 1, rules.end_class);
  const uint32_t anchor = anchor_of(from, row);
  const bool classed = class_id >= rules.first_class && class_id < rules.end_class;
  if (image != from.image || !classed || anchor == rules.indexed) return {};
  return {from.get(FieldId::kScores, anchor, class_id), class_id};
}

/// Returns score and class of an anchor that has one score.
template <AnchorReader Values>
KB_HD ScoredClass ready_score(const Values& from, uint32_t anchor) {
  if (from.has(FieldId::kIndices)) return indexed_score(from, anchor);
  if (from.has(FieldId::kImage) &&
      from.get(FieldId::kImage, anchor) != static_cast<float>(from.image))
    return {};
  ScoredClass scored{from.get(FieldId::kScore, anchor), 0};
  if (from.has(FieldId::kClassId)) scored.class_id = class_of(from.get(FieldId::kClassId, anchor));
  return scored;
}

template <AnchorReader Values>
KB_HD bool has_ready_scores(const Values& from) {
  return !from.has(FieldId::kScores) || from.has(FieldId::kIndices);
}

/// Returns the best class of an anchor.
template <AnchorReader Values>
KB_HD ScoredClass best_of_anchor(const Values& from, uint32_t anchor) {
  if (has_ready_scores(from)) return ready_score(from, anchor);
  const float objectness = objectness_of(from, anchor);
  if (!is_object(from, objectness)) return {};
  if (from.rules.scores.rule == ScoreRule::kObjectness) return {objectness, from.rules.first_class};
  const ScoredClass best = best_class(from, anchor, objectness);
  const bool softmax = from.rules.scores.activation == Activation::kSoftmax;
  return final_score(from, anchor, best, objectness,
                     softmax ? largest_logit(from, anchor, best.score) : 0);
}

/// Values shared by all classes of an anchor.
struct AnchorTerms {
  float objectness = 1;
  float largest = 0, sum = 1;  // softmax: largest logit, and sum of e^(logit - largest)
};

template <AnchorReader Values>
KB_HD_NOINLINE AnchorTerms anchor_terms(const Values& from, uint32_t anchor, float objectness) {
  AnchorTerms out{objectness};
  if (from.rules.scores.activation != Activation::kSoftmax) return out;
  out.largest = largest_logit(from, anchor, -std::numeric_limits<float>::infinity());
  out.sum = 0;
  for (uint32_t c = 0; c < from.rules.classes; ++c)
    out.sum = out.sum + exp_f32(from.get(FieldId::kScores, anchor, c) - out.largest);
  return out;
}

/// Returns the score of one class of an anchor.
template <AnchorReader Values>
KB_HD ScoredClass class_score(const Values& from, uint32_t anchor, const AnchorTerms& terms,
                              uint32_t class_id) {
  const ScoreRules& rules = from.rules.scores;
  const float raw = from.get(FieldId::kScores, anchor, class_id);
  const float score = rules.activation == Activation::kSoftmax
                          ? exp_f32(raw - terms.largest) / terms.sum
                          : activate(rules, raw);
  return {combined(rules, terms.objectness, score), class_id};
}

/// Returns the minimum score of the best class for other classes to pass; activations need not be
/// monotonic in their last bits.
KB_HD inline float min_best(const Rules& rules) {
  const float bits = magnitude(rules.lowest_threshold) * 1e-5f;
  return rules.multi_label ? rules.lowest_threshold - bits : rules.lowest_threshold;
}

/// True if the best class failing implies that every class fails. With a negative objectness,
/// possible only at thresholds of 0 and below, the best class has the lowest product.
KB_HD inline bool best_decides(const Rules& rules) {
  return rules.scores.rule != ScoreRule::kArgmaxFirst || rules.lowest_threshold > 0;
}

/// Calls visit(ScoredClass) for an anchor's best class, or for every class if each may make a box.
template <AnchorReader Values, class Visit>
KB_HD void visit_classes(const Values& from, uint32_t anchor, Visit visit) {
  if (!from.rules.multi_label || has_ready_scores(from)) return visit(best_of_anchor(from, anchor));
  const float objectness = objectness_of(from, anchor);
  if (!is_object(from, objectness)) return;
  const AnchorTerms terms = anchor_terms(from, anchor, objectness);
  for (uint32_t c = from.rules.first_class; c < from.rules.end_class; ++c)
    visit(class_score(from, anchor, terms, c));
}

/// Returns the number of valid anchors: all, the count given by the model, or the rows before the
/// first with a negative image.
template <AnchorReader Values>
KB_HD uint32_t anchors_of(const Values& from) {
  if (from.has(FieldId::kCount))
    return filled_rows(from.get(FieldId::kCount, 0), from.rules.anchors);
  uint32_t rows = from.rules.anchors;
  if (from.has(FieldId::kImage))
    for (uint32_t row = 0; row < rows; ++row)
      if (from.get(FieldId::kImage, row) < 0.0f) rows = row;
  return rows;
}

}  // namespace keepbox
