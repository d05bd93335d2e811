// SPDX-License-Identifier: LGPL-2.1-or-later
// Dispatch to the methods of suppression.
#pragma once

#include "core/reference/bitmask.h"
#include "core/reference/diou.h"
#include "core/reference/matrix.h"
#include "core/reference/merge.h"
#include "core/reference/nms.h"
#include "core/reference/soft.h"
#include "core/reference/weighted.h"

namespace keepbox::reference {

/// Implements Backend::nms for one geometry.
template <BoxGeometry Geometry>
uint32_t suppress(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  const Stop& stop = scratch.stop;
  switch (plan.rules.method) {
    case NmsMethod::kNone: return keep(plan, candidates, kept, stop, [](auto...) { return true; });
    case NmsMethod::kBitmask: return bitmask<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kSegmented: return segmented<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kFast: return fast<Geometry>(plan, candidates, kept, stop);
    case NmsMethod::kSoftLinear:
    case NmsMethod::kSoftGaussian: return soft<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kWeighted: return weighted<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kDiou: return diou<Geometry>(plan, candidates, kept, stop);
    case NmsMethod::kMatrix:
    case NmsMethod::kMatrixLinear: return matrix<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kMerge: return merge<Geometry>(plan, candidates, kept, stop);
    default: return greedy<Geometry>(plan, candidates, kept, stop);
  }
}

}  // namespace keepbox::reference
