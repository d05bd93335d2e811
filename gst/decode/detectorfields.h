// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of a model family as text: one table for who reads files and for who writes them.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/detector.h"

namespace keepbox {

/// What a family that is read only points to.
struct Kept {
  std::deque<std::string> texts;
  std::deque<std::vector<float>> numbers;
  std::deque<std::vector<AnchorSize>> sizes;
};

/// A field of a family or of one of its tensors.
template <class Of>
struct TextField {
  std::string_view key;
  std::string_view summary;  // a sentence for the manual
  std::string expected;      // what it may be: "true or false"
  /// Takes a text; false when it is none of those, and then nothing has changed.
  std::function<bool(std::string_view, Of&, Kept&)> read;
  std::function<std::string(const Of&)> print;
  bool always = false;  // printed whatever it is; else where it differs from a new one
};

/// In the order in which they are printed.
std::span<const TextField<DetectorSpec>> detector_fields();
std::span<const TextField<TensorRule>> tensor_fields();

template <class Of>
const TextField<Of>* find_field(std::span<const TextField<Of>> fields, std::string_view key) {
  for (const TextField<Of>& field : fields)
    if (field.key == key) return &field;
  return nullptr;
}

/// Columns of readers that have none: what core's table says of them.
Columns default_columns(Reader reader);

std::string_view role_nick(Role role);

}  // namespace keepbox
