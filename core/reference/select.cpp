// SPDX-License-Identifier: LGPL-2.1-or-later
// Sorts candidates and applies the limits.
#include "core/reference/reference.h"

#include <algorithm>
#include <array>

namespace keepbox::reference {

uint32_t cut(const Rules& rules, std::span<Candidate> ordered) {
  const auto limit = static_cast<uint32_t>(std::min<size_t>(rules.pre_nms_top_k, ordered.size()));
  if (rules.pre_nms_class_top_k == 0) return limit;
  std::array<uint32_t, kMaxClasses> of_class{};
  uint32_t count = 0;
  for (size_t i = 0; i < ordered.size() && count < limit; ++i)
    if (of_class[key_class(ordered[i].key)]++ < rules.pre_nms_class_top_k)
      ordered[count++] = ordered[i];
  return count;
}

uint32_t select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot>,
                std::span<Candidate> ordered) {
  std::ranges::copy(candidates, ordered.begin());
  std::ranges::sort(ordered.first(candidates.size()), {}, &Candidate::key);
  return cut(plan.rules, ordered.first(candidates.size()));
}

}  // namespace keepbox::reference
