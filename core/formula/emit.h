// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps kept candidates to boxes on the frame.
#pragma once

#include "core/formula/box.h"
#include "core/formula/filter.h"
#include "core/formula/letterbox.h"
#include "core/formula/oriented.h"
#include "core/formula/rules.h"

namespace keepbox {

/// Returns the marker for a box dropped by a filter: empty, and unlike any clipped box.
KB_HD constexpr Box filtered_box() { return {-1, -1, -1, -1}; }
KB_HD constexpr bool is_filtered(const Box& box) { return box.x1 < 0 && box.x2 <= box.x1; }

/// True if a box on the frame passes the size and region filters.
/// @param around the upright bounding box. @pre class_id < rules.class_ids
KB_HD inline bool passes_filters(const Box& box, const Box& around, uint32_t class_id, Size frame,
                                 const Rules& rules, const Tables& tables) {
  return (tables.size_limits == nullptr || passes_size(box, tables.size_limits[class_id])) &&
         (tables.regions == nullptr ||
          passes_regions(around, frame, rules.regions, tables.regions));
}

/// Returns a kept candidate as a box on the frame, clipped to it. The box is empty (is_empty()) if
/// it is outside of the frame, and marked (is_filtered()) if a filter drops it. An oriented box is
/// not clipped, but empty if its upright bounding box is outside; its size is that of its sides,
/// and its location that of the bounding box.
KB_HD inline Detection emitted(const Candidate& from, const Letterbox& letterbox,
                               const Rules& rules, const Tables& tables) {
  Detection out;
  out.score = key_score(from.key);
  out.class_id = key_class(from.key);
  out.anchor = anchor_in_key(rules.contract, key_anchor(from.key));
  Box around;
  if (rules.oriented) {
    out.angle = from.angle;
    out.box = oriented_to_frame(letterbox, from.box, out.angle);
    around = around_oriented(out.box, out.angle);
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
