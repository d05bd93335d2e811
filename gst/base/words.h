// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of others in our messages, and lists of them.
#pragma once

#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace keepbox {

/// The text in quotation marks: valid UTF-8 in one line, its beginning when it is long.
std::string in_quotes(std::string_view text);

/// "a; b; c"
std::string joined(std::span<const std::string> parts);

/// Without blanks around it.
std::string_view trimmed(std::string_view text);

/// The trimmed parts between `at`, one at least.
std::vector<std::string_view> split(std::string_view text, char at);

/// A number and nothing else; false when it is none or does not fit.
template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// A finite number and nothing else.
template <class T>
bool parse_finite(std::string_view text, T& value) {
  return parse(text, value) && std::isfinite(value);
}

}  // namespace keepbox
