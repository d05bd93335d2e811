// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads fields of JSON objects.
#include "gst/recording/indexfields.h"

#include <nlohmann/json.hpp>

namespace keepbox {

std::expected<std::string, std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) return wrong(std::string(key) + " that is not text");
  auto text = found->get<std::string>();
  if (text.contains('\0')) return wrong("a NUL in " + std::string(key));
  return text;
}

std::expected<std::optional<int64_t>, std::string> number_at(const Json& object, const char* key,
                                                             int64_t low, int64_t high) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const bool large = found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX;
  if (!found->is_number_integer() || large || found->get<int64_t>() < low ||
      found->get<int64_t>() > high)
    return wrong(std::string(key) + " that is out of range or not a number");
  return found->get<int64_t>();
}

}  // namespace keepbox
