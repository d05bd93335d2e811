// SPDX-License-Identifier: LGPL-2.1-or-later
// Soft suppression: a kept box lowers the scores of those that it overlaps (Bodla et al.).
#pragma once

#include "core/reference/nms.h"
#include "core/rescore.h"

namespace keepbox::reference {

/// The best by its score of now; candidates.size() when none is left.
inline size_t best_left(std::span<const Candidate> candidates, std::span<const uint64_t> gone) {
  size_t best = candidates.size();
  for (size_t i = 0; i < candidates.size(); ++i)
    if (!bit(gone, i) && (best == candidates.size() || candidates[i].key < candidates[best].key))
      best = i;
  return best;
}

/// @pre words.size() >= nms_words(plan)
template <class Geometry>
uint32_t soft(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
              std::span<uint64_t> words) {
  const Rules& rules = plan.rules;
  std::ranges::fill(words, 0);  // a bit for each that is kept or below its threshold
  ClassLimit limit(plan);
  uint32_t count = 0;
  while (count < rules.kept_capacity) {
    const size_t best = best_left(candidates, words);
    if (best == candidates.size()) break;
    set_bit(words, best);
    if (!limit.admits(candidates[best])) continue;
    kept[count++] = static_cast<uint32_t>(best);
    for (size_t i = 0; i < candidates.size(); ++i) {
      uint64_t& key = candidates[i].key;
      if (bit(words, i) || !same_class(rules.contract, candidates[best].key, key)) continue;
      const float over =
          pair<Geometry>(rules, candidates[best], candidates[i], overlap_of<Geometry>);
      key = with_score(key, softened(rules, key_score(key), over));
      if (!still_passes(rules, plan.tables(), key)) set_bit(words, i);
    }
  }
  return count;
}

}  // namespace keepbox::reference
