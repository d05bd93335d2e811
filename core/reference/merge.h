// SPDX-License-Identifier: LGPL-2.1-or-later
// Merging suppression: greedy, then each box becomes the mean of all candidates that it overlaps,
// like in YOLOv5.
#pragma once

#include "core/formula/rescore.h"
#include "core/reference/nms.h"

namespace keepbox::reference {

/// Computes the means in place: kept boxes do not overlap each other, so that no mean contains
/// another kept box.
template <BoxGeometry Geometry>
uint32_t merge(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
               const Stop& stop) {
  const uint32_t count = greedy<Geometry>(plan, candidates, kept, stop);
  for (const uint32_t k : kept.first(count)) {
    if (stop.requested()) break;
    const PreparedBox<Geometry> own(plan, candidates[k]);
    WeightedMean mean;
    for (uint32_t j = 0; j < candidates.size(); ++j)
      if (j == k ||
          (own.suppresses(candidates[j]) && !std::ranges::binary_search(kept.first(count), j)))
        mean.add(plan.rules.contract, candidates[j].box, key_score(candidates[j].key));
    candidates[k].box = mean.mean(candidates[k].box);
  }
  return count;
}

}  // namespace keepbox::reference
