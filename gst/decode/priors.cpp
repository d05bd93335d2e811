// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads tables of prior boxes, one prior per line or per column.
#include "gst/decode/priors.h"

#include <glib.h>

#include <charconv>
#include <cstring>
#include <format>
#include <string>

#include "core/formula/box.h"
#include "gst/base/error.h"
#include "gst/base/plainfile.h"
#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr size_t kMaxPriorsBytes = size_t{1} << 26;
constexpr const char* kPriorsHint =
    "set priors-file= to a file of N lines of cy cx h w, or of 4 lines of N numbers";

/// Reads the numbers of one line; false if it contains anything else.
bool numbers_of(std::string_view line, std::vector<float>& out) {
  const char* at = line.data();
  const char* end = at + line.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    if (at == end) return true;
    float value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return false;
    out.push_back(value);
    at = next;
  }
}

}  // namespace

Result<std::vector<Prior>> load_priors(const char* path) {
  KB_ASSIGN(const auto file, read_text(path, kMaxPriorsBytes, kPriorsHint));

  std::vector<float> numbers;   // all lines together
  std::vector<size_t> in_line;  // count per line that is not empty
  std::string_view rest(file);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t before = numbers.size();
    if (!numbers_of(line, numbers))
      return file_error(
          std::string(path) + " has a line that is not numbers: " + in_quotes(line.substr(0, 40)),
          kPriorsHint);
    const size_t found = numbers.size() - before;
    if (found > 0) in_line.push_back(found);
    if (in_line.size() > kMaxAnchors || found > kMaxAnchors)
      return file_error(
          std::string(path) + " has more than " + std::to_string(kMaxAnchors) + " priors",
          kPriorsHint);
  }
  if (in_line.empty()) return file_error(std::string(path) + " is empty", kPriorsHint);
  const bool across = in_line.size() == 4 && in_line[0] != 4;
  const size_t wanted = across ? in_line[0] : 4;
  for (const size_t found : in_line)
    if (found != wanted)
      return file_error(std::format("{} has a line of {} numbers, not {}", path, found, wanted),
                        kPriorsHint);
  std::vector<Prior> priors;
  const size_t count = across ? wanted : in_line.size();
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](size_t field) {
      return numbers[across ? field * count + i : i * wanted + field];
    };
    priors.push_back({.cx = at(1), .cy = at(0), .width = at(3), .height = at(2)});
  }
  return priors;
}

}  // namespace keepbox
