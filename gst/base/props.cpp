// SPDX-License-Identifier: LGPL-2.1-or-later
// Nicks of properties.
#include "gst/base/props.h"

namespace keepbox {

const gchar* nick_of(const gchar* name) {
  g_autofree gchar* nick = g_strdelimit(g_strdup(name), "-", ' ');
  *nick = g_ascii_toupper(*nick);
  return g_intern_string(nick);
}

}  // namespace keepbox
