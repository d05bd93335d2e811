// SPDX-License-Identifier: LGPL-2.1-or-later
// Backends compared with the reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/parity/harness.h"

namespace keepbox::test {

inline constexpr unsigned kAllSeeds = 50;  // with which all planted bugs are caught
extern unsigned seeds;                     // per family; --seeds=N

/// Returns "second", the tests' own implementation, and the backends, with one entry per
/// instruction set of the vector backend ("simd AVX2").
std::vector<std::string> candidates();

/// Returns that backend and selects its instruction set until the next call.
Backend candidate(const std::string& name);

/// Returns the random values of a family's input.
Random random_for(const Family& family, unsigned seed);

/// Returns the first difference over all seeds.
std::optional<std::string> hunt(Kernel kernel, const Backend& backend, const Family& family);

}  // namespace keepbox::test
