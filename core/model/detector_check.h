// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds fields of a model family that contradict each other.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/model/detector.h"

namespace keepbox {

// A field of a model family that contradicts the others.

/// A field that contradicts the others.
struct Fault {
  int tensor = -1;       // index of a tensor; -1: the family itself
  std::string_view key;  // name of the field
  std::string expected, found;
};

/// A fault, if there is one.
using Found = std::optional<Fault>;

/// Returns a fault of the family.
inline Fault fault(std::string_view key, std::string expected, std::string found) {
  return {.key = key, .expected = std::move(expected), .found = std::move(found)};
}

/// Returns a fault of one of its tensors.
inline Fault fault_of(size_t tensor, std::string_view key, std::string expected,
                      std::string found) {
  return {static_cast<int>(tensor), key, std::move(expected), std::move(found)};
}

/// Returns the number of tensors with a role.
inline size_t count_of(const DetectorSpec& spec, Role role) {
  return static_cast<size_t>(std::ranges::count(spec.rules(), role, &TensorRule::role));
}

/// Returns a column as families in files write it.
inline std::string column_text(int8_t column) {
  return column < 0 ? "none" : std::to_string(column);
}

/// Returns the first fault: fields that would make a plan read beyond the tensors, or that have no
/// effect. std::nullopt if the family can be decoded.
std::optional<Fault> find_fault(const DetectorSpec& spec);

}  // namespace keepbox
