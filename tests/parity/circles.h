// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of circles with vectors.
#pragma once

#include <span>

#include "core/run/backend.h"

namespace keepbox::simd {

/// Implements Backend::nms, greedy only.
uint32_t circles(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 const NmsScratch& scratch);

}  // namespace keepbox::simd
