// SPDX-License-Identifier: LGPL-2.1-or-later
// Fields of an index's JSON objects. Errors do not include the position.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace keepbox {

using Json = nlohmann::json;                 // for reading
using WrittenJson = nlohmann::ordered_json;  // for writing; lookup is linear, so not for lines with
                                             // many fields

/// Returns the error of a line.
inline std::unexpected<std::string> wrong(std::string found) {
  return std::unexpected(std::move(found));
}

/// Returns a text, "" if it is missing. A NUL is an error, because GStreamer's strings end there.
std::expected<std::string, std::string> text_at(const Json& object, const char* key);

/// Returns an integer within bounds, or std::nullopt if it is missing.
std::expected<std::optional<int64_t>, std::string> number_at(const Json& object, const char* key,
                                                             int64_t low, int64_t high);

}  // namespace keepbox
