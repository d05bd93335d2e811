// SPDX-License-Identifier: LGPL-2.1-or-later
// The classes of the COCO data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace keepbox {

/// A class by its number in the data set, 1 to 90 with gaps.
struct CocoClass {
  int64_t id = 0;
  std::string name;
};

/// Returns the 80 classes in the order in which models number them.
std::span<const CocoClass> coco_classes();

/// Returns the index of a class by its name: as COCO or darknet spells it, in lower or upper case,
/// with or without blanks, hyphens and underscores.
std::optional<size_t> coco_class_called(std::string_view name);

/// True if a model's first 80 classes are COCO's. Up to half of the names may differ, as if they
/// are misspelt or of another language.
bool are_coco_classes(std::span<const std::string> names);

}  // namespace keepbox
