// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a box that was kept.
#pragma once

#include "core/box.h"
#include "core/filter.h"
#include "core/letterbox.h"
#include "core/rules.h"
#include "core/turned.h"

namespace keepbox {

/// In place of a box that sizes or regions drop: empty, and no box that clipping leaves.
KB_HD constexpr Box filtered_box() { return {-1, -1, -1, -1}; }
KB_HD constexpr bool is_filtered(const Box& box) { return box.x1 < 0 && box.x2 <= box.x1; }

/// Is a box on the frame of a size and in a place that are wanted?
/// @param around the upright box around it. @pre class_id < rules.class_ids
KB_HD inline bool passes_filters(const Box& box, const Box& around, uint32_t class_id, Size frame,
                                 const Rules& rules, const Tables& tables) {
  return (tables.size_limits == nullptr || is_within(box, tables.size_limits[class_id])) &&
         (tables.regions == nullptr || is_placed(around, frame, rules.regions, tables.regions));
}

/// A kept candidate on the frame, clipped to it; empty (is_empty()) where it lies outside, or where
/// it is not wanted there (is_filtered()). A turned one is whole or, where the upright box around
/// it lies outside, empty; its size is that of its sides, its place that of the box around it.
KB_HD inline Detection emitted(const Candidate& from, const Letterbox& letterbox,
                               const Rules& rules, const Tables& tables) {
  Detection out;
  out.score = key_score(from.key);
  out.class_id = key_class(from.key);
  out.anchor = anchor_in_key(rules.contract, key_anchor(from.key));
  Box around;
  if (rules.turned) {
    out.angle = from.angle;
    out.box = turned_to_frame(letterbox, from.box, out.angle);
    around = around_turned(out.box, out.angle);
    if (is_empty(clip(around, letterbox.frame)) || !finite(out.box) || !is_finite(out.angle))
      out.box = {};
  } else {
    out.box = clip(ordered(letterbox.to_frame(from.box), rules.contract), letterbox.frame);
    around = out.box;
  }
  if (is_empty(out.box)) out.box = {};
  else if (!passes_filters(out.box, around, out.class_id, letterbox.frame, rules, tables))
    out.box = filtered_box();
  return out;
}

}  // namespace keepbox
