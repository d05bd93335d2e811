// SPDX-License-Identifier: LGPL-2.1-or-later
// Text that every reader takes.
#include "gst/sink/text.h"

namespace keepbox {

std::string utf8(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  return valid;
}

std::string name_of(GQuark name) {
  const gchar* text = g_quark_to_string(name);
  return text != nullptr ? utf8(text) : std::string();
}

}  // namespace keepbox
