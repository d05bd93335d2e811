// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns scored anchors into candidates: templates over an AnchorReader.
#pragma once

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
  if (!classed || !is_finite(scored.score) || !finite(box) || !is_finite(angle))
    return Outcome::kNotFinite;
  if (!rules.uniform && from.tables.class_wanted[scored.class_id] == 0) return Outcome::kUnwanted;
  out.key = order_key(scored.score, anchor_in_key(rules.contract, anchor), scored.class_id);
  out.box = box;
  out.angle = angle;
  return Outcome::kCandidate;
}

}  // namespace keepbox
