// SPDX-License-Identifier: LGPL-2.1-or-later
// What parity tests compare with the reference.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"

namespace keepbox::test {

extern unsigned seeds;  // of every family; --seeds=N

/// "second", which is the tests' own, and the backends, each instruction set of the vector backend
/// on its own ("simd AVX2").
std::vector<std::string> candidates();

/// That one, from now on until the next call.
Backend candidate(const std::string& name);

}  // namespace keepbox::test
