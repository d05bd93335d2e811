// SPDX-License-Identifier: LGPL-2.1-or-later
// Matrix suppression: each score is lowered once, by the better box with the strongest effect,
// which is weaker the more that box is suppressed itself (SOLOv2).
#pragma once

#include "core/formula/rescore.h"
#include "core/reference/nms.h"

namespace keepbox::reference {

/// Calls visit(i, overlap) for the candidates before j of the same class.
template <BoxGeometry Geometry, class Visit>
void each_better(const Plan& plan, std::span<const Candidate> candidates, size_t j, Visit visit) {
  const PreparedBox<Geometry> own(plan, candidates[j]);
  for (size_t i = 0; i < j; ++i)
    if (own.is_comparable(candidates[i]))
      visit(i, own.by_better(candidates[i], overlap_of<Geometry>));
}

/// @pre scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t matrix(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                const NmsScratch& scratch) {
  const Rules& rules = plan.rules;
  const auto max_overlaps = scratch.words.first(candidates.size());  // maximum overlaps, as bits
  for (size_t j = 0; j < candidates.size(); ++j) {
    if (scratch.stop.requested()) return 0;
    float own = 0;
    Decay decay(rules);
    each_better<Geometry>(plan, candidates, j, [&](size_t i, float overlap) {
      own = std::max(own, overlap);
      decay.add(rules, overlap, float_from_bits(static_cast<uint32_t>(max_overlaps[i])));
    });
    max_overlaps[j] = float_bits(own);
    uint64_t& key = candidates[j].key;
    key = with_score(key, decay.of(rules, key_score(key)));
  }
  const auto key_of = [&](uint64_t place) { return candidates[place].key; };
  const auto order = max_overlaps;  // from here on indices sorted by new score
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, key_of);
  ClassLimit limit(plan);
  uint32_t count = 0;
  for (size_t i = 0; i < order.size() && count < rules.kept_capacity; ++i)
    if (still_passes(rules, plan.tables(), key_of(order[i])) && limit.admits(candidates[order[i]]))
      kept[count++] = static_cast<uint32_t>(order[i]);
  return count;
}

}  // namespace keepbox::reference
