// SPDX-License-Identifier: LGPL-2.1-or-later
// Weighted suppression: a box becomes the mean of itself and the boxes it suppresses, like in
// MediaPipe. Its score stays.
#pragma once

#include "core/formula/rescore.h"
#include "core/reference/nms.h"

namespace keepbox::reference {

/// @pre scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t weighted(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  std::ranges::fill(words, 0);  // one bit per candidate that was merged into a box
  std::ranges::fill(scratch.owners, UINT32_MAX);
  return keep(
      plan, candidates, kept, scratch.stop, [&](uint32_t i, auto) { return !bit(words, i); },
      [&](uint32_t i) {
        Candidate& best = candidates[i];
        const PreparedBox<Geometry> own(plan, best);
        WeightedMean mean;
        for (size_t j = i; j < candidates.size(); ++j) {
          const Candidate& each = candidates[j];
          if (j != i && (bit(words, j) || !own.suppresses(each))) continue;
          mean.add(plan.rules.contract, each.box, key_score(each.key));
          set_bit(words, j);
          if (!scratch.owners.empty()) scratch.owners[j] = i;
        }
        best.box = mean.mean(best.box);
      });
}

}  // namespace keepbox::reference
