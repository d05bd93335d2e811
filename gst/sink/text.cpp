// SPDX-License-Identifier: LGPL-2.1-or-later
// Sanitises text for all readers.
#include "gst/sink/text.h"

namespace keepbox {
namespace {

/// True if it is blank to any reader or to the eye; some readers also split at control characters.
bool is_blank(gunichar c) {
  return g_unichar_isspace(c) || g_unichar_iscntrl(c) ||
         g_unichar_break_type(c) == G_UNICODE_BREAK_ZERO_WIDTH_SPACE;
}

}  // namespace

std::string utf8(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  return valid;
}

std::string name_of(GQuark name) {
  const gchar* text = g_quark_to_string(name);
  return text != nullptr ? utf8(text) : std::string();
}

std::string as_word(const std::string& text) {
  std::string out;
  for (const gchar* at = text.c_str(); *at != '\0'; at = g_utf8_next_char(at)) {
    if (is_blank(g_utf8_get_char(at))) out += '_';
    else out.append(at, g_utf8_next_char(at));
  }
  return out;
}

}  // namespace keepbox
