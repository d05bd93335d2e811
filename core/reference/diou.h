// SPDX-License-Identifier: LGPL-2.1-or-later
// Distance-IoU: greedy, but the distance of centres reduces the overlap (Zheng et al.).
#pragma once

#include "core/reference/nms.h"

namespace keepbox::reference {

template <BoxGeometry Geometry>
uint32_t diou(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              const Stop& stop) {
  return greedy_by<Geometry>(
      plan, candidates, kept, stop, [](const auto& own, const Candidate& better) {
        return own.is_comparable(better) && own.by_better(better, hits_by_diou<Geometry>);
      });
}

}  // namespace keepbox::reference
