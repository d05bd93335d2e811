// SPDX-License-Identifier: LGPL-2.1-or-later
// Which fields of a model family make no sense together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/detector.h"

namespace keepbox {

/// Where a family makes no sense.
struct Fault {
  int tensor = -1;       // the number of a tensor, or the family itself
  std::string_view key;  // as fields are called
  std::string expected, found;
};

/// The first one: what a plan would have to read beyond the tensors for, or what says nothing.
/// Nothing of families that can be decoded.
std::optional<Fault> find_fault(const DetectorSpec& spec);

}  // namespace keepbox
