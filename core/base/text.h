// SPDX-License-Identifier: LGPL-2.1-or-later
// Words and numbers of texts, and names that resemble a misspelt one.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace keepbox {

// Quoted texts in messages, and lists of words.

/// Returns the number of bytes of the character that a text begins with, in UTF-8; 0 if it begins
/// with none, or with NUL.
size_t utf8_length(std::string_view text);

/// True for UTF-8 without NUL.
bool is_utf8(std::string_view text);

/// Returns the text in quotation marks: valid UTF-8 on one line, shortened if long.
std::string in_quotes(std::string_view text);

/// Appends a part to a list such as "a, b".
void append(std::string& list, std::string_view part, std::string_view between = ", ");

/// Joins as "a; b; c".
std::string joined(std::span<const std::string> parts);

/// Returns the dimensions of a tensor as "1x84x8400"; one may be -1.
std::string dims_text(const auto& dims) {
  std::string text;
  for (const auto dim : dims) append(text, std::to_string(dim), "x");
  return text.empty() ? "no dimensions" : text;
}

/// Removes surrounding blanks.
std::string_view trimmed(std::string_view text);

/// Splits at a character and trims the parts; at least one.
std::vector<std::string_view> split(std::string_view text, char at);

/// Splits into lines without trimming blanks, which count in dictionaries of characters; "\r\n"
/// ends a line too. A line end at the end of the text begins no other line.
std::vector<std::string_view> lines_of(std::string_view text);

/// Parses a number and nothing else; false if it is malformed or does not fit.
template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// Parses a finite number and nothing else.
template <class T>
bool parse_finite(std::string_view text, T& value) {
  return parse(text, value) && std::isfinite(value);
}

// Names that misspelt ones may stand for.

/// Finds the name that a text is most like: at most a third of its letters are wrong, and upper and
/// lower case are equal. The first of several that are equally near.
class NearestName {
 public:
  /// @param text outlives this, as do the names.
  explicit NearestName(std::string_view text) : text_(text), max_edits_(text.size() / 3) {}

  void consider(std::string_view name);
  /// Returns the nearest name so far; empty if none is near.
  std::string_view found() const { return found_; }

 private:
  std::string_view text_, found_;
  size_t max_edits_;
};

/// Returns the beginning of a hint: "did you mean NAME? Set ", or "set " if the name is empty.
std::string set_or_ask(std::string_view name);

}  // namespace keepbox
