// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a box that was kept.
#pragma once

#include "core/box.h"
#include "core/filter.h"
#include "core/letterbox.h"
#include "core/rules.h"

namespace keepbox {

/// In place of a box that sizes or regions drop: empty, and no box that clipping leaves.
KB_HD constexpr Box filtered_box() { return {-1, -1, -1, -1}; }
KB_HD constexpr bool is_filtered(const Box& box) { return box.x1 < 0; }

/// Is a box on the frame of a size and in a place that are wanted?
/// @pre class_id < rules.class_ids
KB_HD inline bool passes_filters(const Box& box, uint32_t class_id, Size frame, const Rules& rules,
                                 const Tables& tables) {
  return (tables.size_limits == nullptr || is_within(box, tables.size_limits[class_id])) &&
         (tables.regions == nullptr || is_placed(box, frame, rules.regions, tables.regions));
}

/// A kept candidate on the frame, clipped to it; empty (is_empty()) where it lies outside, or where
/// it is not wanted there (is_filtered()).
KB_HD inline Detection emitted(uint64_t key, const Box& box, const Letterbox& letterbox,
                               const Rules& rules, const Tables& tables) {
  Detection out;
  out.box = clip(ordered(letterbox.to_frame(box), rules.contract), letterbox.frame);
  out.score = key_score(key);
  out.class_id = key_class(key);
  out.anchor = anchor_in_key(rules.contract, key_anchor(key));
  if (!is_empty(out.box) && !passes_filters(out.box, out.class_id, letterbox.frame, rules, tables))
    out.box = filtered_box();
  return out;
}

}  // namespace keepbox
