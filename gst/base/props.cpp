// SPDX-License-Identifier: LGPL-2.1-or-later
// Values of properties and their enums.
#include "gst/base/props.h"

namespace keepbox {

const gchar* nick_of(const gchar* name) {
  g_autofree gchar* nick = g_strdelimit(g_strdup(name), "-", ' ');
  *nick = g_ascii_toupper(*nick);
  return g_intern_string(nick);
}

namespace {

/// Registers a type, unless another plugin of the project did. GObject keeps pointers to the table
/// and its strings, which live as long as the process.
/// @tparam Value GEnumValue or GFlagsValue.
template <class Value>
GType register_values(const char* name, const std::vector<EnumValue>& values,
                      GType register_static(const gchar*, const Value*)) {
  if (const GType there = g_type_from_name(name); there != 0) return there;
  auto* table = g_new0(Value, values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string nick(values[i].nick), summary(values[i].summary);
    table[i].value = static_cast<decltype(Value::value)>(values[i].value);
    table[i].value_name = g_intern_string(summary.c_str());
    table[i].value_nick = g_intern_string(nick.c_str());
  }
  const GType type = register_static(name, table);
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

}  // namespace

GType register_enum(const char* name, const std::vector<EnumValue>& values) {
  return register_values<GEnumValue>(name, values, g_enum_register_static);
}

GType register_flags(const char* name, const std::vector<EnumValue>& values) {
  return register_values<GFlagsValue>(name, values, g_flags_register_static);
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
