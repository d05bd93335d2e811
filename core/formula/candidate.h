// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns scored anchors into candidates, by templates over an AnchorReader, and boxes of a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/formula/score.h"

namespace keepbox {

/// True if a cell's score of a class is a maximum among its neighbours.
template <AnchorReader Values>
KB_HD_NOINLINE bool is_peak(const Values& from, uint32_t anchor, ScoredClass scored) {
  const BoxRules& boxes = from.rules.boxes;
  const Level* levels = from.tables.boxes.levels;
  const Cell cell = cell_of(boxes, levels, anchor);
  const Level& level = levels[cell.level];
  const uint32_t end =
      cell.level + 1 < boxes.level_count ? levels[cell.level + 1].first_anchor : from.rules.anchors;
  const uint32_t rows = (end - level.first_anchor) / (level.width * level.cell_anchors);
  for (uint32_t row = cell.row - (cell.row > 0 ? 1 : 0); row <= cell.row + 1 && row < rows; ++row)
    for (uint32_t column = cell.column - (cell.column > 0 ? 1 : 0);
         column <= cell.column + 1 && column < level.width; ++column) {
      const uint32_t other =
          level.first_anchor + (row * level.width + column) * level.cell_anchors + cell.anchor;
      const float raw = from.get(FieldId::kScores, other, scored.class_id);
      if (activate(from.rules.scores, raw) > scored.score) return false;
    }
  return true;
}

/// Stage at which an anchor was dropped, or kCandidate.
enum class Outcome : uint8_t {
  kBelow,      // below its class's score threshold
  kNotFinite,  // a NaN, an infinity or an invalid class
  kUnwanted,   // filtered out by class
  kCandidate,
};

/// Raw values of a box.
struct RawBox {
  float v[4];
};

/// Returns the distance of a side in strides: the softmax mean of its bins.
template <AnchorReader Values>
KB_HD_NOINLINE float mean_bin(const Values& from, uint32_t anchor, uint32_t side) {
  const uint32_t bins = from.rules.boxes.bins, first = side * bins;
  float largest = -std::numeric_limits<float>::infinity(), sum = 0, weighted = 0;
  for (uint32_t i = 0; i < bins; ++i) {
    const float logit = from.get(FieldId::kBox, anchor, first + i);
    if (logit > largest) largest = logit;
  }
  for (uint32_t i = 0; i < bins; ++i) {
    const float weight = exp_f32(from.get(FieldId::kBox, anchor, first + i) - largest);
    sum = sum + weight;
    weighted = weighted + weight * static_cast<float>(i);
  }
  return weighted / sum;
}

/// Returns the raw values of a box from one or two tensors.
template <AnchorReader Values>
KB_HD RawBox raw_box(const Values& from, uint32_t anchor) {
  const uint32_t at = anchor_of(from, anchor);
  if (from.rules.boxes.bins > 1)
    return {{mean_bin(from, at, 0), mean_bin(from, at, 1), mean_bin(from, at, 2),
             mean_bin(from, at, 3)}};
  const bool separate = from.has(FieldId::kSizes);
  const FieldId sizes = separate ? FieldId::kSizes : FieldId::kBox;
  const uint32_t first = separate ? 0 : 2;
  return {{from.get(FieldId::kBox, at, 0), from.get(FieldId::kBox, at, 1),
           from.get(sizes, at, first), from.get(sizes, at, first + 1)}};
}

/// Applies the class filter to a box that passed its threshold. @param anchor or its index in a
/// list. @param out written for kCandidate.
KB_HD inline Outcome filter_box(const Rules& rules, const Tables& tables, uint32_t anchor,
                                ScoredClass scored, const Box& box, float angle, Candidate& out) {
  if (scored.class_id >= rules.class_ids || !is_finite(scored.score) || !finite(box) ||
      !is_finite(angle))
    return Outcome::kNotFinite;
  if (!rules.uniform && tables.class_wanted[scored.class_id] == 0) return Outcome::kUnwanted;
  out.key = order_key(scored.score, anchor_in_key(rules.contract, anchor), scored.class_id);
  out.box = box;
  out.angle = angle;
  return Outcome::kCandidate;
}

/// Applies the class threshold, decodes the box and applies the class filter. @param raw returns
/// the raw values, called only if needed. @param out written for kCandidate.
template <AnchorReader Values, class Raw>
KB_HD Outcome try_candidate(const Values& from, uint32_t anchor, ScoredClass scored, Raw raw,
                            Candidate& out) {
  const Rules& rules = from.rules;
  const bool classed = scored.class_id < rules.class_ids;
  const float threshold = !rules.uniform && classed ? from.tables.class_threshold[scored.class_id]
                                                    : rules.lowest_threshold;
  if (!passes(scored.score, threshold, rules.contract)) return Outcome::kBelow;
  if (rules.peaks && classed && !is_peak(from, anchor, scored)) return Outcome::kBelow;
  const RawBox values = raw();
  const Box box = decode_box(rules.boxes, from.tables.boxes, anchor, values.v[0], values.v[1],
                             values.v[2], values.v[3]);
  const float angle =
      from.has(FieldId::kAngle) ? from.get(FieldId::kAngle, anchor_of(from, anchor)) : 0.0f;
  return filter_box(rules, from.tables, anchor, scored, box, angle, out);
}

/// Boxes that come from no tensor: corners or, for oriented ones, centre, size and angle.
struct BoxList {
  const float* boxes = nullptr;      // values_of() each
  const float* scores = nullptr;     // one each
  const int64_t* classes = nullptr;  // likewise; null: all are of class 0

  KB_HD static constexpr uint32_t values_of(bool oriented) { return oriented ? 5 : 4; }

  KB_HD BoxList from(size_t first, bool oriented) const {
    return {boxes + first * values_of(oriented), scores + first,
            classes == nullptr ? nullptr : classes + first};
  }
};

/// True for the class ids that boxes of a list may have.
KB_HD constexpr bool is_class(int64_t id) { return id >= 0 && id < int64_t{kMaxClasses}; }

/// Applies the threshold and the class filter to a box of a list. @param out written for
/// kCandidate.
KB_HD inline Outcome try_box(const Rules& rules, const Tables& tables, const BoxList& list,
                             uint32_t index, Candidate& out) {
  const int64_t id = list.classes == nullptr ? 0 : list.classes[index];
  if (!is_class(id)) return Outcome::kNotFinite;
  const ScoredClass scored{list.scores[index], static_cast<uint32_t>(id)};
  if (!passes(scored.score, threshold_of(rules, tables, scored.class_id), rules.contract))
    return Outcome::kBelow;
  const float* v = list.boxes + size_t{index} * BoxList::values_of(rules.oriented);
  const Box box = decode_box(rules.boxes, tables.boxes, index, v[0], v[1], v[2], v[3]);
  return filter_box(rules, tables, index, scored, box, rules.oriented ? v[4] : 0.0f, out);
}

}  // namespace keepbox
