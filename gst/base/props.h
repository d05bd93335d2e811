// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of an element as a table: name, blurb, and where the value is stored.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/model/words.h"

namespace keepbox {

inline constexpr auto kChangeWhenReady =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
inline constexpr auto kChangeWhilePlaying = static_cast<GParamFlags>(
    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);

/// Returns a property's name as words, such as "Max size bytes", for tools with a user interface.
const gchar* nick_of(const gchar* name);

/// A property stored in a member of Props, plain data that is copied under the object lock. The
/// default is that of a default Props. An empty string is NULL to GObject.
template <class Props>
struct Property {
  const char* name;
  const char* blurb;
  std::variant<std::string Props::*, gfloat Props::*, std::optional<gfloat> Props::*,
               std::optional<gdouble> Props::*, gdouble Props::*, guint Props::*, gint64 Props::*,
               bool Props::*, int Props::*>
      member;
  GType (*enum_type)() = nullptr;   // of an int member: an enum; nullptr: a number from 0, or -1.
                                    // Flags of a guint member
  gdouble lowest = 0, highest = 1;  // for all numbers; for int only `highest`, if above 1
  bool controllable = false;
  bool live = false;         // unlike others, takes effect without a new start or plan
  gdouble unset = 0;         // value that an optional number without a value shows
  GType type = G_TYPE_NONE;  // as of enum_type, if it is registered already

  bool has_type() const { return enum_type != nullptr || type != G_TYPE_NONE; }
  GType type_of() const { return enum_type != nullptr ? enum_type() : type; }
};

/// The properties with ids 1, 2, ...
template <class Props>
class PropertyTable {
 public:
  constexpr PropertyTable(std::span<const Property<Props>> rows, GParamFlags flags)
      : rows_(rows), flags_(flags) {}

  /// Installs the properties and returns the first free id.
  guint install(GObjectClass* klass) const {
    const Props defaults;
    guint id = 1;
    for (const Property<Props>& row : rows_)
      g_object_class_install_property(klass, id++, spec_of(row, defaults));
    return id;
  }

  size_t size() const { return rows_.size(); }
  /// Sets or gets a property. @return false for an unknown id.
  bool set(Props& props, guint id, const GValue* value) const;
  bool get(const Props& props, guint id, GValue* value) const;
  /// True if all properties that are not `live` are equal.
  bool only_live_differ(const Props& a, const Props& b) const;

 private:
  // Inlined, GCC warns about types of members that a small Props cannot have.
  [[gnu::noinline]] GParamSpec* spec_of(const Property<Props>& row, const Props& defaults) const;

  std::span<const Property<Props>> rows_;
  GParamFlags flags_;
};

template <class Props>
GParamSpec* PropertyTable<Props>::spec_of(const Property<Props>& p, const Props& defaults) const {
  const auto flags =
      static_cast<GParamFlags>(flags_ | (p.controllable ? GST_PARAM_CONTROLLABLE : 0) |
                               (p.live ? GST_PARAM_MUTABLE_PLAYING : 0));
  return std::visit(
      [&](auto member) -> GParamSpec* {
        const auto& value = defaults.*member;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>)
          return g_param_spec_string(p.name, nick_of(p.name), p.blurb,
                                     value.empty() ? nullptr : value.c_str(), flags);
        else if constexpr (std::is_same_v<T, gfloat>)
          return g_param_spec_float(p.name, nick_of(p.name), p.blurb, static_cast<gfloat>(p.lowest),
                                    static_cast<gfloat>(p.highest), value, flags);
        else if constexpr (std::is_same_v<T, std::optional<gfloat>>)
          return g_param_spec_float(p.name, nick_of(p.name), p.blurb, static_cast<gfloat>(p.lowest),
                                    static_cast<gfloat>(p.highest), static_cast<gfloat>(p.unset),
                                    flags);
        else if constexpr (std::is_same_v<T, std::optional<gdouble>>)
          return g_param_spec_double(p.name, nick_of(p.name), p.blurb, p.lowest, p.highest, p.unset,
                                     flags);
        else if constexpr (std::is_same_v<T, gdouble>)
          return g_param_spec_double(p.name, nick_of(p.name), p.blurb, p.lowest, p.highest, value,
                                     flags);
        else if constexpr (std::is_same_v<T, guint>)
          return p.has_type() ? g_param_spec_flags(p.name, nick_of(p.name), p.blurb, p.type_of(),
                                                   value, flags)
                              : g_param_spec_uint(p.name, nick_of(p.name), p.blurb,
                                                  static_cast<guint>(p.lowest),
                                                  static_cast<guint>(p.highest), value, flags);
        else if constexpr (std::is_same_v<T, gint64>)
          return g_param_spec_int64(p.name, nick_of(p.name), p.blurb, static_cast<gint64>(p.lowest),
                                    static_cast<gint64>(p.highest), value, flags);
        else if constexpr (std::is_same_v<T, bool>)
          return g_param_spec_boolean(p.name, nick_of(p.name), p.blurb, value, flags);
        else if (p.has_type())
          return g_param_spec_enum(p.name, nick_of(p.name), p.blurb, p.type_of(), value, flags);
        else
          return g_param_spec_int(p.name, nick_of(p.name), p.blurb, -1,
                                  p.highest > 1 ? static_cast<gint>(p.highest) : G_MAXINT, value,
                                  flags);
      },
      p.member);
}

template <class Props>
bool PropertyTable<Props>::set(Props& props, guint id, const GValue* value) const {
  if (id < 1 || id > rows_.size()) return false;
  const Property<Props>& p = rows_[id - 1];
  std::visit(
      [&](auto member) {
        using T = std::remove_cvref_t<decltype(props.*member)>;
        if constexpr (std::is_same_v<T, std::string>) {
          const gchar* text = g_value_get_string(value);
          props.*member = text != nullptr ? text : "";
        } else if constexpr (std::is_same_v<T, gfloat> ||
                             std::is_same_v<T, std::optional<gfloat>>) {
          props.*member = g_value_get_float(value);
        } else if constexpr (std::is_same_v<T, gdouble> ||
                             std::is_same_v<T, std::optional<gdouble>>) {
          props.*member = g_value_get_double(value);
        } else if constexpr (std::is_same_v<T, guint>) {
          props.*member = p.has_type() ? g_value_get_flags(value) : g_value_get_uint(value);
        } else if constexpr (std::is_same_v<T, gint64>) {
          props.*member = g_value_get_int64(value);
        } else if constexpr (std::is_same_v<T, bool>) {
          props.*member = g_value_get_boolean(value) != FALSE;
        } else {
          props.*member = p.has_type() ? g_value_get_enum(value) : g_value_get_int(value);
        }
      },
      p.member);
  return true;
}

template <class Props>
bool PropertyTable<Props>::get(const Props& props, guint id, GValue* value) const {
  if (id < 1 || id > rows_.size()) return false;
  const Property<Props>& p = rows_[id - 1];
  std::visit(
      [&](auto member) {
        using T = std::remove_cvref_t<decltype(props.*member)>;
        if constexpr (std::is_same_v<T, std::string>)
          g_value_set_string(value, (props.*member).empty() ? nullptr : (props.*member).c_str());
        else if constexpr (std::is_same_v<T, gfloat>) g_value_set_float(value, props.*member);
        else if constexpr (std::is_same_v<T, std::optional<gfloat>>)
          g_value_set_float(value, (props.*member).value_or(static_cast<gfloat>(p.unset)));
        else if constexpr (std::is_same_v<T, std::optional<gdouble>>)
          g_value_set_double(value, (props.*member).value_or(p.unset));
        else if constexpr (std::is_same_v<T, gdouble>) g_value_set_double(value, props.*member);
        else if constexpr (std::is_same_v<T, guint>) {
          if (p.has_type()) g_value_set_flags(value, props.*member);
          else g_value_set_uint(value, props.*member);
        } else if constexpr (std::is_same_v<T, gint64>) g_value_set_int64(value, props.*member);
        else if constexpr (std::is_same_v<T, bool>) g_value_set_boolean(value, props.*member);
        else if (p.has_type()) g_value_set_enum(value, props.*member);
        else g_value_set_int(value, props.*member);
      },
      p.member);
  return true;
}

template <class Props>
bool PropertyTable<Props>::only_live_differ(const Props& a, const Props& b) const {
  return std::ranges::all_of(rows_, [&](const Property<Props>& p) {
    return p.live || std::visit([&](auto member) { return a.*member == b.*member; }, p.member);
  });
}

// GEnum types of properties: registration, and the type that several elements share.

/// Registers a GEnum that is part of the plugin's interface. Once per name.
GType register_enum(const char* name, const std::vector<EnumValue>& values);

/// Registers GFlags, whose values are bits, like register_enum().
GType register_flags(const char* name, const std::vector<EnumValue>& values);

/// Returns the nick of a value.
std::string nick_of(GType type, int value);

GType resize_mode_type();  // ResizeMode

}  // namespace keepbox
