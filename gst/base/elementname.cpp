// SPDX-License-Identifier: LGPL-2.1-or-later
// Leaves out the prefix of a type's name where GStreamer made an element's name from it.
#include "gst/base/elementname.h"

#include <cstring>

namespace keepbox {
namespace {

constexpr const char* kPrefix = "keepbox";

GQuark parent_quark() { return g_quark_from_static_string("keepbox-parent-class"); }

/// @param type one that is named by its factory, or a subclass of it.
GObjectClass* parent_class(GType type) {
  while (g_type_get_qdata(type, parent_quark()) == nullptr) type = g_type_parent(type);
  return static_cast<GObjectClass*>(g_type_get_qdata(type, parent_quark()));
}

/// True for the type's name and a number.
bool is_default(const char* name, GType type) {
  g_autofree gchar* lower = g_ascii_strdown(g_type_name(type), -1);
  if (!g_str_has_prefix(name, kPrefix) || !g_str_has_prefix(name, lower)) return false;
  const char* number = name + std::strlen(lower);
  return *number != '\0' && std::strspn(number, "0123456789") == std::strlen(number);
}

/// True if the caller gives a name.
bool has_name(guint count, const GObjectConstructParam* params) {
  for (guint i = 0; i < count; ++i)
    if (g_str_equal(params[i].pspec->name, "name"))
      return g_value_get_string(params[i].value) != nullptr;
  return false;
}

GObject* construct(GType type, guint count, GObjectConstructParam* params) {
  const bool named = has_name(count, params);
  GObject* object = parent_class(type)->constructor(type, count, params);
  g_autofree gchar* name = gst_object_get_name(GST_OBJECT(object));
  if (!named && is_default(name, type))
    gst_object_set_name(GST_OBJECT(object), name + std::strlen(kPrefix));
  return object;
}

}  // namespace

void name_by_factory(gpointer klass) {
  g_type_set_qdata(G_OBJECT_CLASS_TYPE(klass), parent_quark(), g_type_class_peek_parent(klass));
  G_OBJECT_CLASS(klass)->constructor = construct;
}

}  // namespace keepbox
