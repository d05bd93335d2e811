// SPDX-License-Identifier: LGPL-2.1-or-later
// The size of a picture, from caps.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "core/letterbox.h"

namespace keepbox {

/// Width, height and pixel aspect ratio of fixed video caps of any format and memory; nothing when
/// they lack a size.
std::optional<Picture> picture_of(const GstCaps* caps);

}  // namespace keepbox
