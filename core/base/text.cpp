// SPDX-License-Identifier: LGPL-2.1-or-later
// Words and numbers of texts, and names that resemble a misspelt one.
#include "core/base/text.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr size_t kLongest = 60;  // bytes of quoted text in a message

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  const auto within = [first](unsigned low, unsigned high) {
    return first >= low && first <= high;
  };
  const size_t length = within(0x01, 0x7f)   ? 1
                        : within(0xc2, 0xdf) ? 2
                        : within(0xe0, 0xef) ? 3
                        : within(0xf0, 0xf4) ? 4
                                             : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // longer than it need be, a half of a surrogate pair, or beyond the last character
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  std::string_view rest = text.substr(0, kLongest);
  std::string out = "\"";
  while (!rest.empty()) {
    const size_t length = utf8_length(rest);
    if (length == 0) out += "\ufffd";
    else if (static_cast<unsigned char>(rest[0]) < ' ') out += ' ';
    else out += rest.substr(0, length);
    rest.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + (kLongest < text.size() ? "...\"" : "\"");
}

void append(std::string& list, std::string_view part, std::string_view between) {
  if (!list.empty()) list += between;
  list += part;
}

std::string joined(std::span<const std::string> parts) {
  std::string out;
  for (const std::string& part : parts) append(out, part, "; ");
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

namespace {

/// Returns the case-insensitive edit distance of two texts, in which two swapped neighbours are one
/// edit (optimal string alignment), or more than `max_edits` if their lengths differ by more.
size_t edits(std::string_view a, std::string_view b, size_t max_edits) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > max_edits) return max_edits + 1;
  const size_t columns = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * columns + j]; };
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const auto same = [&](size_t i, size_t j) { return lower(a[i - 1]) == lower(b[j - 1]); };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + !same(i, j)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j))
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  return at(a.size(), b.size());
}

}  // namespace

void NearestName::consider(std::string_view name) {
  const size_t away = edits(text_, name, max_edits_);
  if (name.empty() || away > max_edits_ || (!found_.empty() && away == max_edits_)) return;
  found_ = name;
  max_edits_ = away;
}

std::string set_or_ask(std::string_view name) {
  return name.empty() ? "set " : "did you mean " + std::string(name) + "? Set ";
}

}  // namespace keepbox
