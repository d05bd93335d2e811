// SPDX-License-Identifier: LGPL-2.1-or-later
// The element inside tensorreplay that attaches recorded tensors to frames.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "core/letterbox.h"
#include "gst/recording/timeline.h"

GType keepbox_tensor_attach_get_type();

namespace keepbox {

/// What a source of frames for a recording has to know.
struct RecordedFrames {
  Timeline timeline;
  size_t frames = 0;
  Size size;
};

/// Opens the recording for the next start, whose buffers have its frames' numbers as offsets (see
/// blacksource.h). Posts an error and returns nothing when it cannot.
std::optional<RecordedFrames> open_recording(GstElement* attach);

/// Forgets what open_recording() opened, if it did not start.
void close_recording(GstElement* attach);

}  // namespace keepbox
