// SPDX-License-Identifier: LGPL-2.1-or-later
// The source inside tensorreplay: a black frame for each recorded one, at its time.
#pragma once

#include <gst/gst.h>

#include "core/letterbox.h"
#include "gst/recording/timeline.h"

GType keepbox_black_source_get_type();

namespace keepbox {

/// What it plays, before it starts. Its buffers' offset is the frame's number in the timeline.
/// @param timeline where it is empty, or caps downstream want another frame rate than its own,
/// frames come at that rate (30 a second unless they say) and begin at 0.
/// @param frames how many there are. @param size 0x0: what a decoder downstream makes of the tensors.
void set_source_frames(GstElement* source, Timeline timeline, size_t frames, Size size);

/// Go on with the recording repeated? At any time.
void set_source_loop(GstElement* source, bool loop);

}  // namespace keepbox
