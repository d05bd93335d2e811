// SPDX-License-Identifier: LGPL-2.1-or-later
// Names and numbers as all formats of detections write them.
#pragma once

#include <glib.h>

#include <string>
#include <string_view>

#include "core/box.h"
#include "gst/metas/analytics.h"

namespace keepbox {

/// Valid UTF-8; bytes that are not become U+FFFD.
std::string utf8(std::string_view text);

/// Valid UTF-8; empty for 0.
std::string name_of(GQuark name);

/// One word: columns are told apart by blanks. @param text is valid UTF-8.
std::string as_word(const std::string& text);

/// The name of a box's model where it says something: a decoder's own does where there are several.
inline std::string shown_model(const FrameBox& box) { return box.unnamed ? "" : name_of(box.model); }

inline float width_of(const Box& b) { return b.x2 - b.x1; }
inline float height_of(const Box& b) { return b.y2 - b.y1; }

}  // namespace keepbox
