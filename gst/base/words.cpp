// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of others in our messages, and lists of them.
#include "gst/base/words.h"

#include <glib.h>

#include <charconv>
#include <cmath>

namespace keepbox {
namespace {

constexpr size_t kLongest = 60;  // bytes of others' text in a message

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const std::string_view start = text.substr(0, kLongest);
  g_autofree gchar* valid =
      g_utf8_make_valid(start.data(), static_cast<gssize>(start.size()));
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

bool parse_whole(std::string_view text, int64_t& value) { return parse(text, value); }

bool parse_finite(std::string_view text, double& value) {
  return parse(text, value) && std::isfinite(value);
}

}  // namespace keepbox
