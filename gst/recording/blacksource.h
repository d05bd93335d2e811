// SPDX-License-Identifier: LGPL-2.1-or-later
// The source inside tensorreplay: a black frame per recorded frame, at its time.
#pragma once

#include <gst/gst.h>

#include "core/formula/letterbox.h"
#include "gst/recording/timeline.h"

GType keepbox_black_source_get_type();

namespace keepbox {

/// Sets the recording to play, before the start. Buffer offsets are the frame's number in the
/// timeline.
/// @param timeline if it is empty, or if downstream caps require a frame rate other than its own,
/// frames come at that rate (30 per second by default) and begin at 0.
/// @param frames the number of frames. @param size 0x0: the input size of the decoder downstream.
void set_source_frames(GstElement* source, Timeline timeline, size_t frames, Size size);

/// Sets if playback restarts after the last frame. At any time.
void set_source_loop(GstElement* source, bool loop);

}  // namespace keepbox
