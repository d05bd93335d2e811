// SPDX-License-Identifier: LGPL-2.1-or-later
// Random inputs, and changed ones.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace keepbox::fuzz {

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;  // the same numbers everywhere

inline constexpr size_t kMaxBytes = 4096;

Bytes fresh_input(Random& random);

/// Returns one of the inputs with a few changes: bits and bytes, pieces removed, repeated or taken
/// from another one, an end cut off. @pre there is one
Bytes changed_input(Random& random, std::span<const Bytes> of);

}  // namespace keepbox::fuzz
