// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads character by character, and rejects everything that is not allowed.
#include "tests/fuzz/rowreader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace keepbox::fuzz {
namespace {

/// Characters for which Python's str.isspace() is true.
constexpr std::array<std::string_view, 29> kPythonBlanks{
    "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",   "\x1e",
    "\x1f",   " ",      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
    "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

size_t blank_at(std::string_view text) {
  for (const std::string_view blank : kPythonBlanks)
    if (text.starts_with(blank)) return blank.size();
  return 0;
}

}  // namespace

std::optional<std::vector<Cells>> read_csv(std::string_view text) {
  std::vector<Cells> out;
  Cells row;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string cell;
    if (text[at] == '"') {
      for (++at;; ++at) {
        if (at >= text.size()) return {};
        if (text[at] == '"' && (++at >= text.size() || text[at] != '"')) break;
        cell += text[at];
      }
    } else {
      while (at < text.size() && text[at] != ',' && text[at] != '\n') {
        if (text[at] == '"' || text[at] == '\r') return {};
        cell += text[at++];
      }
    }
    if (at >= text.size() || (text[at] != ',' && text[at] != '\n')) return {};
    row.push_back(std::move(cell));
    if (text[at] == '\n') out.push_back(std::exchange(row, {}));
  }
  return row.empty() ? std::optional(out) : std::nullopt;
}

std::optional<std::vector<Cells>> read_rows(std::string_view text, char separator) {
  std::vector<Cells> out;
  Cells row(1);
  for (const char c : text) {
    if (c == '\n') out.push_back(std::exchange(row, Cells(1)));
    else if (c == separator) row.emplace_back();
    else row.back() += c;
  }
  if (row.size() != 1 || !row.front().empty()) return {};
  return out;
}

Cells split_as_python(std::string_view line) {
  Cells out(1);
  while (!line.empty()) {
    const size_t blank = blank_at(line);
    if (blank == 0) out.back() += line.front();
    else if (!out.back().empty()) out.emplace_back();
    line.remove_prefix(std::max<size_t>(blank, 1));
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

bool reads_as(const std::string& cell, float value) {
  char* end = nullptr;
  const float read = std::strtof(cell.c_str(), &end);
  if (cell.empty() || *end != '\0') return false;
  return std::isnan(value) ? std::isnan(read)
                           : read == value && std::signbit(read) == std::signbit(value);
}

std::optional<std::vector<bool>> read_run_lengths(std::string_view text, size_t pixels) {
  std::vector<int64_t> lengths;
  std::vector<bool> out;
  for (size_t at = 0; at < text.size();) {
    int64_t number = 0;
    int shift = 0, digit = 0;
    do {
      if (at == text.size() || text[at] < '0' || text[at] >= '0' + 64 || shift > 55) return {};
      digit = text[at++] - '0';
      number |= int64_t{digit & 31} << shift;
      shift += 5;
    } while ((digit & 32) != 0);
    if ((digit & 16) != 0) number -= int64_t{1} << shift;
    if (lengths.size() > 2) number += lengths[lengths.size() - 2];
    if (number < 0 || static_cast<uint64_t>(number) > pixels - out.size()) return {};
    out.insert(out.end(), static_cast<size_t>(number), lengths.size() % 2 == 1);
    lengths.push_back(number);
  }
  return out.size() == pixels ? std::optional(out) : std::nullopt;
}

}  // namespace keepbox::fuzz
