// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames with tensors and metas.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <string>

#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// Small pictures of some format.
GstVideoInfo any_info(Input& input);

/// A frame of them with tensors that decoders know, or others, and now and then with metas of
/// others.
GstBuffer* any_frame(Input& input, const GstVideoInfo& info);

}  // namespace keepbox::fuzz
