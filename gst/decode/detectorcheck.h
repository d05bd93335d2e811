// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds fields of a model family that contradict each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/detector.h"

namespace keepbox {

/// A field that contradicts the others.
struct Fault {
  int tensor = -1;       // index of a tensor; -1: the family itself
  std::string_view key;  // name of the field
  std::string expected, found;
};

/// Returns the first fault: fields that would make a plan read beyond the tensors, or that have no
/// effect. std::nullopt if the family can be decoded.
std::optional<Fault> find_fault(const DetectorSpec& spec);

}  // namespace keepbox
