// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of a family as text: one table to check, read and print detector files.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/detector.h"

namespace keepbox {

/// Owns the data that a family read from a file points to.
struct FamilyStorage {
  std::deque<std::string> texts;
  std::deque<std::vector<float>> numbers;
  std::deque<std::vector<AnchorSize>> sizes;
};

/// A field of a family or of one of its tensors.
template <class Of>
struct TextField {
  std::string_view key;
  std::string_view summary;  // a sentence for the manual
  std::string expected;      // accepted values: "true or false"
  /// Parses a text; returns false and changes nothing if the text is not an accepted value.
  std::function<bool(std::string_view, Of&, FamilyStorage&)> read;
  std::function<std::string(const Of&)> print;
  bool always = false;  // always printed; otherwise only if not the default
};

/// Return the fields in the order in which they are printed.
std::span<const TextField<DetectorSpec>> detector_fields();
std::span<const TextField<TensorRule>> tensor_fields();

template <class Of>
const TextField<Of>* find_field(std::span<const TextField<Of>> fields, std::string_view key) {
  for (const TextField<Of>& field : fields)
    if (field.key == key) return &field;
  return nullptr;
}

/// Returns the columns that core's table gives readers without columns.
Columns default_columns(Reader reader);

std::string_view word_of(Role role);

}  // namespace keepbox
