// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of upright and oriented boxes.
#include "core/reference/nms.h"

#include "core/formula/oriented.h"
#include "core/reference/backend.h"

namespace keepbox::reference {

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  return with_geometry(plan.rules, [&]<class Geometry>() {
    return suppress<Geometry>(plan, candidates, kept, scratch);
  });
}

}  // namespace keepbox::reference
