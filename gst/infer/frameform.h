// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's description of raw video in core's words.
#pragma once

#include <gst/video/video.h>

#include "core/input.h"
#include "core/result.h"

namespace keepbox {

/// How frames of these caps lie in memory and what their samples mean, by the caps' own colour
/// matrix, range and chroma siting; of alpha nothing is seen. kUnsupported for formats whose
/// samples are not bytes at even distances: other depths, tiles, palettes.
Result<FrameForm> frame_form_of(const GstVideoInfo& info);

/// Where a mapped frame's planes are: in the memory that it was mapped in.
FramePlanes planes_of(const GstVideoFrame& frame);

}  // namespace keepbox
