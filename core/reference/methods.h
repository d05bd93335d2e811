// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice among the methods of suppression.
#pragma once

#include "core/reference/nms.h"
#include "core/reference/segmented.h"

namespace keepbox::reference {

/// As Backend::nms, for a geometry.
template <class Geometry>
uint32_t suppress(const Plan& plan, std::span<const Candidate> candidates,
                  std::span<uint32_t> kept, const NmsScratch& scratch) {
  switch (plan.rules.method) {
    case NmsMethod::kNone: return keep(plan, candidates, kept, [](auto...) { return true; });
    case NmsMethod::kBitmask: return bitmask<Geometry>(plan, candidates, kept, scratch.words);
    case NmsMethod::kSegmented: return segmented<Geometry>(plan, candidates, kept, scratch.words);
    case NmsMethod::kFast: return fast<Geometry>(plan, candidates, kept);
    default: return greedy<Geometry>(plan, candidates, kept);
  }
}

}  // namespace keepbox::reference
