// SPDX-License-Identifier: LGPL-2.1-or-later
// Soft suppression: a kept box lowers the scores of boxes that it overlaps (Bodla et al.).
#pragma once

#include "core/formula/rescore.h"
#include "core/reference/nms.h"

namespace keepbox::reference {

/// Lowers the scores of boxes that a kept box overlaps, and returns the best remaining one, or
/// candidates.size(). @param dropped one bit per candidate that is kept or dropped; set for those
/// that fall below their threshold, and for those of the box's class if it is full.
template <BoxGeometry Geometry>
size_t soften(const Plan& plan, std::span<Candidate> candidates, size_t kept, bool full,
              std::span<uint64_t> dropped) {
  const Rules& rules = plan.rules;
  const uint32_t own_class = key_class(candidates[kept].key);
  const PreparedBox<Geometry> better(plan, candidates[kept]);
  size_t best = candidates.size();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (bit(dropped, i)) continue;
    uint64_t& key = candidates[i].key;
    if (better.is_comparable(candidates[i])) {
      const float over = better.to_other(candidates[i], overlap_of<Geometry>);
      if (over > 0) key = with_score(key, softened(rules, key_score(key), over));
      if (over > 0 && !still_passes(rules, plan.tables(), key)) set_bit(dropped, i);
    }
    if (full && key_class(key) == own_class) set_bit(dropped, i);
    if (!bit(dropped, i) && (best == candidates.size() || key < candidates[best].key)) best = i;
  }
  return best;
}

/// @pre scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t soft(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
              const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  std::ranges::fill(words, 0);
  ClassLimit limit(plan);
  uint32_t count = 0;
  size_t best = 0;  // candidates arrive in order
  while (count < plan.rules.kept_capacity && best < candidates.size() &&
         !scratch.stop.requested() &&
         limit.admits(candidates[best])) {  // always, except for a limit of 0
    set_bit(words, best);
    kept[count++] = static_cast<uint32_t>(best);
    best = soften<Geometry>(plan, candidates, best, limit.is_full(candidates[best]), words);
  }
  return count;
}

}  // namespace keepbox::reference
