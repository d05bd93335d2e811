// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames with tensors and metas.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <string>

#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// Returns small video in some format.
GstVideoInfo any_info(Input& input);

/// Returns a frame with tensors, known to decoders or not, and sometimes with metas of other
/// elements.
GstBuffer* any_frame(Input& input, const GstVideoInfo& info);

}  // namespace keepbox::fuzz
