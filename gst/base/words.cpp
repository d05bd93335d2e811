// SPDX-License-Identifier: LGPL-2.1-or-later
// Quoted texts in messages, and lists of words.
#include "gst/base/words.h"

#include <algorithm>

#include <glib.h>

namespace keepbox {
namespace {

constexpr size_t kLongest = 60;  // bytes of quoted text in a message

}  // namespace

std::string in_quotes(std::string_view text) {
  const std::string_view start = text.substr(0, kLongest);
  g_autofree gchar* valid =
      start.empty() ? g_strdup("")  // a view without data, too
                    : g_utf8_make_valid(start.data(), static_cast<gssize>(start.size()));
  std::string out = "\"";
  for (const char* at = valid; *at != 0; ++at)
    out += static_cast<unsigned char>(*at) < ' ' ? ' ' : *at;
  return out + (start.size() < text.size() ? "...\"" : "\"");
}

std::string joined(std::span<const std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : "; ") + part;
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

}  // namespace keepbox
