// SPDX-License-Identifier: LGPL-2.1-or-later
// The scalar backend: the specification that every other backend is compared with.
#pragma once

#include "core/backend.h"

namespace keepbox::reference {

Backend backend();

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                std::span<Candidate> out, Funnel& funnel);
uint32_t select(const Plan& plan, std::span<Candidate> candidates);
uint32_t nms(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept);

}  // namespace keepbox::reference
