// SPDX-License-Identifier: LGPL-2.1-or-later
// The element inside tensorreplay that attaches recorded tensors to frames.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "core/formula/letterbox.h"
#include "gst/recording/timeline.h"

GType keepbox_tensor_attach_get_type();

namespace keepbox {

/// The properties of a recording that a source of frames needs.
struct RecordedFrames {
  Timeline timeline;
  size_t frames = 0;
  Size size;
};

/// Opens the recording for the next start, whose buffers have its frame numbers as offsets (see
/// replayprops.h). Posts an error and returns std::nullopt if it fails.
std::optional<RecordedFrames> open_recording(GstElement* attach);

/// Drops what open_recording() opened, if it was not started.
void close_recording(GstElement* attach);

}  // namespace keepbox
