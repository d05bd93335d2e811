// SPDX-License-Identifier: LGPL-2.1-or-later
// Names and numbers as all formats of detections write them.
#pragma once

#include <glib.h>

#include <string>
#include <string_view>

#include "core/box.h"

namespace keepbox {

/// Valid UTF-8; bytes that are not become U+FFFD.
std::string utf8(std::string_view text);

/// Valid UTF-8; empty for 0.
std::string name_of(GQuark name);

inline float width_of(const Box& b) { return b.x2 - b.x1; }
inline float height_of(const Box& b) { return b.y2 - b.y1; }

}  // namespace keepbox
