// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression by words of an IoU mask, as in Faster R-CNN's code.
#include "core/reference/nms.h"

namespace keepbox::reference {

uint32_t bitmask(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 std::span<uint64_t> words) {
  std::ranges::fill(words, 0);
  ClassLimit limit(plan);
  uint32_t count = 0;
  const auto hits = [&](size_t i, size_t j) {
    return suppresses(plan, candidates[i], candidates[j]);
  };
  const auto keeps = [&](size_t i) {
    if (count == plan.kept_capacity || !limit.admits(candidates[i])) return false;
    kept[count++] = static_cast<uint32_t>(i);
    return true;
  };
  resolve_mask(candidates.size(), words, hits, keeps);
  return count;
}

}  // namespace keepbox::reference
