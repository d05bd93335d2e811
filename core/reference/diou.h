// SPDX-License-Identifier: LGPL-2.1-or-later
// Distance-IoU: greedy, but boxes whose centres are apart overlap less (Zheng et al.).
#pragma once

#include "core/reference/nms.h"

namespace keepbox::reference {

template <class Geometry>
uint32_t diou(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept) {
  return greedy_by(plan, candidates, kept, [&](const Candidate& better, const Candidate& other) {
    return same_class(plan.rules.contract, better.key, other.key) &&
           pair<Geometry>(plan.rules, better, other, hits_nearby<Geometry>);
  });
}

}  // namespace keepbox::reference
