// SPDX-License-Identifier: LGPL-2.1-or-later
// Values of properties and their enums.
#include "gst/base/props.h"

namespace keepbox {

const gchar* nick_of(const gchar* name) {
  g_autofree gchar* nick = g_strdelimit(g_strdup(name), "-", ' ');
  *nick = g_ascii_toupper(*nick);
  return g_intern_string(nick);
}

/// Registers a type, unless another plugin of the project did. GObject keeps pointers to the table
/// and its strings, which live as long as the process.
GType register_enum(const char* name, const std::vector<EnumValue>& values) {
  if (const GType there = g_type_from_name(name); there != 0) return there;
  auto* table = g_new0(GEnumValue, values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string nick(values[i].nick), summary(values[i].summary);
    table[i] = {values[i].value, g_intern_string(summary.c_str()), g_intern_string(nick.c_str())};
  }
  const GType type = g_enum_register_static(name, table);
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

GType resize_mode_type() {
  static const GType type =
      register_enum("KeepboxResizeMode", enum_values<ResizeMode>(kResizeWords));
  return type;
}

std::string nick_of(GType type, int value) {
  auto* enums = static_cast<GEnumClass*>(g_type_class_ref(type));
  const GEnumValue* found = g_enum_get_value(enums, value);
  std::string nick = found != nullptr ? found->value_nick : "";
  g_type_class_unref(enums);
  return nick;
}

}  // namespace keepbox
