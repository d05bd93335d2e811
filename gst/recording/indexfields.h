// SPDX-License-Identifier: LGPL-2.1-or-later
// Fields of an index's objects. What is wrong with one is said without its place.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace keepbox {

using Json = nlohmann::json;                 // as it is read
using WrittenJson = nlohmann::ordered_json;  // whose fields are found one after the other: not
                                             // for lines that may have many

/// What is wrong with a line.
inline std::unexpected<std::string> wrong(std::string found) {
  return std::unexpected(std::move(found));
}

/// A text, "" when it is left out. GStreamer's strings end at a NUL: one within is wrong.
std::expected<std::string, std::string> text_at(const Json& object, const char* key);

/// A whole number within bounds, or nothing when it is left out.
std::expected<std::optional<int64_t>, std::string> number_at(const Json& object, const char* key,
                                                             int64_t low, int64_t high);

}  // namespace keepbox
