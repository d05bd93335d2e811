// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy non-maximum suppression, as it is written in every paper, and the choice of the others.
#include "core/reference/nms.h"

#include "core/reference/reference.h"

namespace keepbox::reference {

uint32_t greedy(const Plan& plan, std::span<const Candidate> candidates,
                std::span<uint32_t> kept) {
  return keep(plan, candidates, kept, [&](uint32_t i, std::span<const uint32_t> before) {
    return std::ranges::none_of(before, [&](uint32_t k) {
      return suppresses(plan, candidates[k], candidates[i]);
    });
  });
}

uint32_t nms(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  switch (plan.method) {
    case NmsMethod::kNone: return keep(plan, candidates, kept, [](auto...) { return true; });
    case NmsMethod::kBitmask: return bitmask(plan, candidates, kept, scratch.words);
    case NmsMethod::kSegmented: return segmented(plan, candidates, kept, scratch.words);
    case NmsMethod::kFast: return fast(plan, candidates, kept);
    default: return greedy(plan, candidates, kept);
  }
}

}  // namespace keepbox::reference
