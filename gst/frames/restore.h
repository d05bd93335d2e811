// SPDX-License-Identifier: LGPL-2.1-or-later
// What framerestore does with one frame.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <optional>

#include "core/letterbox.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// A picture and how it is stored.
struct Showing {
  Picture picture;
  GstVideoInfo info;  // of formats that GStreamer does not know: the size alone
  bool plain = false;  // raw video in system memory, which can be mapped
};

/// Of fixed caps; nothing when they lack a size.
std::optional<Showing> showing(const GstCaps* caps);

/// Takes the saved frame off a scaled one, ready to be written to: without copying any pixels where
/// nobody else holds it. Transfer full. @param scaled loses its pixels, and may become another buffer.
GstBuffer* take_frame(GstBuffer** scaled);

/// Timestamps, flags and metas of the scaled frame go to the full one, metas mapped. Flags that say
/// how the pixels are stored stay the full frame's, and so do metas that it has already.
/// @param mode how scalers fitted the picture in, where GStreamer did not say.
void bring_along(GstBuffer* scaled, const Showing& from, GstBuffer* full, const Showing& to,
                 const PixelMap& map, ResizeMode mode);

/// A frame whose planes lie where its caps say, for elements that do not look for a GstVideoMeta: the
/// buffer itself or a copy of it. Transfer full of both.
GstBuffer* with_plain_planes(GstBuffer* frame, const Showing& as);

}  // namespace keepbox
