// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of the second implementation.
#pragma once

#include "tests/parity/second/second.h"

namespace keepbox::test {

/// True if that bug is planted.
bool has(Bug bug);

/// Implements Backend::nms.
uint32_t second_nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                    const NmsScratch& scratch);

}  // namespace keepbox::test
