// SPDX-License-Identifier: LGPL-2.1-or-later
// Select: the total order, and the best of it.
#include "core/reference/reference.h"

#include <algorithm>

namespace keepbox::reference {

uint32_t select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot>,
                std::span<Candidate> ordered) {
  std::ranges::copy(candidates, ordered.begin());
  std::ranges::sort(ordered.first(candidates.size()), {}, &Candidate::key);
  return std::min(plan.rules.pre_nms_top_k, static_cast<uint32_t>(candidates.size()));
}

}  // namespace keepbox::reference
