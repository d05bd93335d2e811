// SPDX-License-Identifier: LGPL-2.1-or-later
// From an anchor's numbers to a candidate: written once, over whatever reads the numbers.
//
// A Source has `rules` (Rules), `tables` (Tables), has(Part), and get(Part, anchor, channel), the
// number as a float.
#pragma once

#include <cstdint>
#include <limits>

#include "core/box.h"
#include "core/coding.h"
#include "core/rules.h"

namespace keepbox {

/// The best class of an anchor; kMaxClasses when it has none: that passes no threshold.
struct Verdict {
  float score = -std::numeric_limits<float>::infinity();
  uint32_t class_id = kMaxClasses;
};

/// The best of the classes first, first + step, ... behind the background: the first of equals; NaN
/// is never best. Not activated, but for rules that multiply first.
template <class Source>
KB_HD_CALLED Verdict best_class(const Source& from, uint32_t anchor, float objectness,
                                uint32_t first = 0, uint32_t step = 1) {
  const Rules& rules = from.rules;
  const bool product = rules.scores.rule == ScoreRule::kProduct;
  Verdict best;
  for (uint32_t c = rules.first_class + first; c < rules.end_class; c += step) {
    const float raw = from.get(Part::kScores, anchor, c);
    const float value = product ? objectness * activate(rules.scores, raw) : raw;
    if (best.class_id != kMaxClasses ? value > best.score : value == value) best = {value, c};
  }
  return best;
}

/// The largest logit of all classes, background included, or `best`.
template <class Source>
KB_HD float largest_logit(const Source& from, uint32_t anchor, float best, uint32_t first = 0,
                          uint32_t step = 1) {
  for (uint32_t c = first; c < from.rules.classes; c += step) {
    const float logit = from.get(Part::kScores, anchor, c);
    if (logit > best) best = logit;
  }
  return best;
}

/// Softmax of a logit over all classes, background included, summed in class order. It is never
/// above e^(logit - largest): the sum is at least 1.
template <class Source>
KB_HD_CALLED float softmax(const Source& from, uint32_t anchor, float logit, float largest) {
  float sum = 0;
  for (uint32_t c = 0; c < from.rules.classes; ++c)
    sum = sum + exp_f32(from.get(Part::kScores, anchor, c) - largest);
  return exp_f32(logit - largest) / sum;
}

/// What is left to do to the best of all classes: its activation, and the objectness.
/// @param largest logit of all classes; for softmax only.
template <class Source>
KB_HD Verdict finished(const Source& from, uint32_t anchor, Verdict best, float objectness,
                       float largest) {
  const ScoreRules& rules = from.rules.scores;
  if (best.class_id == kMaxClasses || rules.rule == ScoreRule::kProduct) return best;
  best.score = rules.activation == Activation::kSoftmax
                   ? softmax(from, anchor, best.score, largest)
                   : activate(rules, best.score);
  if (rules.rule == ScoreRule::kArgmaxFirst) best.score = objectness * best.score;
  return best;
}

/// 1 where a family has none.
template <class Source>
KB_HD float objectness_of(const Source& from, uint32_t anchor) {
  if (!from.has(Part::kObjectness)) return 1.0f;
  return activate(from.rules.scores, from.get(Part::kObjectness, anchor));
}

/// As in YOLOv5's own code, an anchor has to pass by its objectness alone, too.
template <class Source>
KB_HD bool is_object(const Source& from, float objectness) {
  return !from.has(Part::kObjectness) ||
         passes(objectness, from.rules.lowest_threshold, from.rules.contract);
}

/// Score and class of an anchor that has one score.
template <class Source>
KB_HD Verdict ready_verdict(const Source& from, uint32_t anchor) {
  Verdict verdict{from.get(Part::kScore, anchor), 0};
  if (from.has(Part::kClassId)) verdict.class_id = class_of(from.get(Part::kClassId, anchor));
  return verdict;
}

template <class Source>
KB_HD Verdict judge(const Source& from, uint32_t anchor) {
  if (!from.has(Part::kScores)) return ready_verdict(from, anchor);
  const float objectness = objectness_of(from, anchor);
  if (!is_object(from, objectness)) return {};
  const Verdict best = best_class(from, anchor, objectness);
  const bool softmax = from.rules.scores.activation == Activation::kSoftmax;
  return finished(from, anchor, best, objectness,
                  softmax ? largest_logit(from, anchor, best.score) : 0);
}

/// Anchors that count: all, or as many as the model says it found.
template <class Source>
KB_HD uint32_t anchors_of(const Source& from) {
  if (!from.has(Part::kCount)) return from.rules.anchors;
  return filled_rows(from.get(Part::kCount, 0), from.rules.anchors);
}

/// How far an anchor comes.
enum class Outcome : uint8_t {
  kBelow,      // its class's score threshold
  kNotFinite,  // a NaN, an infinity or a senseless class
  kUnwanted,   // a class that is filtered out
  kCandidate,
};

/// The four numbers of a box as the tensor has them.
struct RawBox {
  float v[4];
};

/// Compares with the class's threshold, decodes the box, filters. @param raw gives its numbers, if
/// it comes to that. @param out written for kCandidate.
template <class Source, class Raw>
KB_HD Outcome take(const Source& from, uint32_t anchor, Verdict verdict, Raw raw, Candidate& out) {
  const Rules& rules = from.rules;
  const bool classed = verdict.class_id < rules.class_ids;
  const float threshold = !rules.uniform && classed
                              ? from.tables.class_threshold[verdict.class_id]
                              : rules.lowest_threshold;
  if (!passes(verdict.score, threshold, rules.contract)) return Outcome::kBelow;
  const RawBox numbers = raw();
  const Box box = decode_box(rules.boxes, from.tables.priors, anchor, numbers.v[0], numbers.v[1],
                             numbers.v[2], numbers.v[3]);
  if (!classed || !is_finite(verdict.score) || !finite(box)) return Outcome::kNotFinite;
  if (!rules.uniform && from.tables.class_wanted[verdict.class_id] == 0) return Outcome::kUnwanted;
  out.key =
      order_key(verdict.score, anchor_in_key(rules.contract, anchor), verdict.class_id);
  out.box = box;
  return Outcome::kCandidate;
}

}  // namespace keepbox
