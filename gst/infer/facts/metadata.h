// SPDX-License-Identifier: LGPL-2.1-or-later
// Metadata of a model file, with texts of Python and JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "core/model/detector.h"

namespace keepbox {

// Custom metadata of exported models.

struct ModelMetadata {
  Exporter exporter = Exporter::kUnknown;
  std::string task;  // such as "detect"; empty if unknown
  std::string description;
  std::string head;                 // class of the network's last layer, or LibreYOLO's family;
                                    // empty if unknown
  std::vector<std::string> labels;  // by class, empty where a class has no name
  std::map<std::string, std::vector<std::string>> labels_of;  // of outputs, by their names
  Size size;                         // input size of the export; 0 if unknown
  std::optional<ResizeMode> resize;  // placement of the picture in the input, if declared
  uint32_t stride = 0;               // 0 if unknown
  uint32_t keypoint_numbers = 0;     // per object; 0 if unknown
  bool sorted = false;               // outputs rows of final boxes (end-to-end)
  std::vector<std::string> remarks;  // what was left out, and why
};

/// Reads known keys; malformed values are skipped with a remark.
ModelMetadata read_metadata(const std::map<std::string, std::string>& metadata);

// Python literals, as exporters write them into metadata of models.

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
