// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of texts as users write lists.
#pragma once

#include <charconv>
#include <string_view>
#include <vector>

namespace keepbox {

/// Without blanks around it.
inline std::string_view trimmed_item(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The trimmed parts between `at`, one at least.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(trimmed_item(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A number and nothing else.
template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace keepbox
