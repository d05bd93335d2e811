// SPDX-License-Identifier: LGPL-2.1-or-later
// GEnum types of properties: registration, and the type that several elements share.
#pragma once

#include <gst/gst.h>

#include <string>
#include <string_view>
#include <vector>

namespace keepbox {

struct EnumValue {
  int value;
  std::string_view nick;     // as users type it
  std::string_view summary;  // description for gst-inspect-1.0
};

/// Registers a GEnum that is part of the plugin's interface. Once per name.
GType register_enum(const char* name, const std::vector<EnumValue>& values);

/// Returns the nick of a value.
std::string nick_of(GType type, int value);

GType resize_mode_type();  // ResizeMode

}  // namespace keepbox
