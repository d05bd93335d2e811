// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the reference and another backend on one input and says where they differ.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "tests/parity/families.h"

namespace keepbox::test {

enum class Kernel { kDecode, kSelect, kNms, kFrame };

inline constexpr Kernel kKernels[] = {Kernel::kDecode, Kernel::kSelect, Kernel::kNms,
                                      Kernel::kFrame};
const char* name_of(Kernel kernel);

/// What outputs hold before a kernel writes them.
inline constexpr uint8_t kPoison = 0xa5;

/// The first difference, or nothing. Outputs are poisoned and fenced by guard zones.
std::optional<std::string> difference(Kernel kernel, const Backend& candidate, const Input& input);

/// Image and index of each box that the reference's nms keeps.
using Kept = std::vector<std::pair<uint32_t, uint32_t>>;
Kept reference_nms(const Input& input);

/// Median of the time of one call in microseconds.
double median_time(Kernel kernel, const Backend& backend, const Input& input, int repeats);

}  // namespace keepbox::test
