// SPDX-License-Identifier: LGPL-2.1-or-later
// Python literals, as exporters write them into metadata of models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

/// A value that str() prints: None, bools, numbers, strings, and lists, tuples and dicts of them.
struct PyValue {
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kString, kList, kDict };

  Kind kind = Kind::kNone;
  int64_t whole = 0;           // for kInt; 0 or 1 for kBool
  double real = 0;             // for kFloat
  std::string text;            // for kString; UTF-8 if the source is
  std::vector<PyValue> items;  // for kList (and tuples); for kDict key, value, key, value

  /// Returns the value of a key, the last one if repeated, as in Python; or nullptr.
  const PyValue* get(std::string_view key) const;
};

/// Parses a single literal. kInvalid for anything else, for integers beyond 64 bits, for more than
/// 16 levels and for more than 65536 values.
Result<PyValue> parse_python(std::string_view text);

}  // namespace keepbox
