// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the reference and another backend on one input and reports the first difference.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/run/backend.h"
#include "tests/parity/families.h"

namespace keepbox::test {

enum class Kernel { kDecode, kSelect, kNms, kFrame };

inline constexpr Kernel kKernels[] = {Kernel::kDecode, Kernel::kSelect, Kernel::kNms,
                                      Kernel::kFrame};
const char* name_of(Kernel kernel);

/// Initial value of outputs.
inline constexpr uint8_t kPoison = 0xa5;

/// Returns the first difference, or nothing. Outputs are poisoned and have guard zones.
std::optional<std::string> difference(Kernel kernel, const Backend& candidate, const Input& input);

/// Image and index of each box kept by the reference.
using Kept = std::vector<std::pair<uint32_t, uint32_t>>;
Kept reference_nms(const Input& input);

/// Returns the median time of one call in microseconds.
double median_time(Kernel kernel, const Backend& backend, const Input& input, int repeats);

}  // namespace keepbox::test
