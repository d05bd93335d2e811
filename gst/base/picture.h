// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps of elements that accept any video, and the picture size from caps.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <optional>

#include "core/formula/letterbox.h"

namespace keepbox {

/// Returns size, pixel aspect ratio and chroma of fixed video caps of any format and memory;
/// std::nullopt if they lack a size.
std::optional<Picture> picture_of(const GstCaps* caps);

Picture picture_of(const GstVideoInfo& info);

/// Reads the size of fixed video caps. @return false if they lack one.
bool read_size(const GstCaps* caps, Size& size);

/// Adds pad templates "sink" and "src" with these caps.
void add_templates(gpointer klass, GstCaps* caps, GstPadPresence sink = GST_PAD_ALWAYS);
/// Adds pad templates "sink" and "src" for video of any format and memory.
void add_video_templates(gpointer klass, GstPadPresence sink = GST_PAD_ALWAYS);

}  // namespace keepbox
