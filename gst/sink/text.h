// SPDX-License-Identifier: LGPL-2.1-or-later
// Names and numbers as all formats write them.
#pragma once

#include <glib.h>

#include <string>
#include <string_view>

#include "core/formula/box.h"
#include "gst/metas/framebox.h"

namespace keepbox {

/// Returns valid UTF-8; invalid bytes become U+FFFD.
std::string utf8(std::string_view text);

/// Returns a quark's name as valid UTF-8; empty for 0.
std::string name_of(GQuark name);

/// Returns a single word, because columns are separated by blanks. @param text is valid UTF-8.
std::string as_word(const std::string& text);

/// Returns the name of a box's model if it was set; a decoder's own name counts only with several
/// models.
inline std::string shown_model(const FrameBox& box) {
  return box.unnamed ? "" : name_of(box.model);
}

inline float width_of(const Box& b) { return b.x2 - b.x1; }
inline float height_of(const Box& b) { return b.y2 - b.y1; }

}  // namespace keepbox
