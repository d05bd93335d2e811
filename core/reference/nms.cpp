// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy non-maximum suppression, as it is written in every paper.
#include "core/reference/reference.h"

namespace keepbox::reference {

uint32_t nms(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
             std::span<float>) {
  const NmsContract& contract = plan.contract;
  uint32_t count = 0;
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    const uint32_t class_id = key_class(candidates[i].key);
    uint32_t counted = 0;  // boxes that use up the limit
    bool suppressed = false;
    for (uint32_t k = 0; k < count && !suppressed; ++k) {
      const Candidate& other = candidates[kept[k]];
      const bool same = key_class(other.key) == class_id;
      counted += same || !contract.per_class_limit;
      suppressed = plan.method == NmsMethod::kGreedy && (same || contract.class_agnostic) &&
                   overlaps(other.box, candidates[i].box, plan.iou_threshold, contract);
    }
    if (!suppressed && counted < plan.max_detections) kept[count++] = i;
    if (count == kept.size()) break;
  }
  return count;
}

}  // namespace keepbox::reference
