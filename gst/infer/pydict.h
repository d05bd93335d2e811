// SPDX-License-Identifier: LGPL-2.1-or-later
// Python literals, as exporters write them into a model's metadata.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace keepbox {

/// What str() prints of None, bools, numbers, strings, and lists, tuples and dicts of them.
struct PyValue {
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kString, kList, kDict };

  Kind kind = Kind::kNone;
  int64_t whole = 0;   // of kInt, and 0 or 1 of kBool
  double real = 0;     // of kFloat
  std::string text;    // of kString, UTF-8 where the source is
  std::vector<PyValue> items;  // of kList (and tuples); of kDict key, value, key, value

  /// The value of that key, the last of several, as in Python; or nullptr.
  const PyValue* get(std::string_view key) const;
};

/// Reads one literal and nothing else. kInvalid for all other text, for whole numbers beyond 64
/// bits, for more than 16 levels and for more than 65536 values.
Result<PyValue> parse_python(std::string_view text);

}  // namespace keepbox
