// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of upright and oriented boxes.
#include "core/formula/oriented.h"
#include "core/reference/methods.h"
#include "core/reference/reference.h"

namespace keepbox::reference {

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  if (!plan.rules.oriented) return suppress<Upright>(plan, candidates, kept, scratch);
  return plan.rules.contract.oriented == OrientedOverlap::kPolygon
             ? suppress<OrientedPolygon>(plan, candidates, kept, scratch)
             : suppress<OrientedGaussian>(plan, candidates, kept, scratch);
}

}  // namespace keepbox::reference
