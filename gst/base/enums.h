// SPDX-License-Identifier: LGPL-2.1-or-later
// GEnum types of properties: how they are made, and the one that several elements share.
#pragma once

#include <gst/gst.h>

#include <string>
#include <string_view>
#include <vector>

namespace keepbox {

struct EnumValue {
  int value;
  std::string_view nick;     // what users type
  std::string_view summary;  // a sentence for the manual
};

/// Registers a GEnum that is part of the plugin's interface. Once for each name.
GType register_enum(const char* name, const std::vector<EnumValue>& values);

/// The nick of a value.
std::string nick_of(GType type, int value);

GType resize_mode_type();  // ResizeMode

}  // namespace keepbox
