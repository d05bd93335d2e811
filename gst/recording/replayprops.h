// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of the element that replays tensors, and its source of black frames.
#pragma once

#include <gst/gst.h>

#include <string>

#include "core/formula/letterbox.h"
#include "gst/base/props.h"
#include "gst/recording/timeline.h"

namespace keepbox {

// The properties of tensorreplay.

enum class ReplayMemory { kSystem, kCuda };

struct ReplayProps {
  std::string location;
  std::string dims, type = "float32", id;  // as RawForm
  bool loop = false;
  int memory = static_cast<int>(ReplayMemory::kSystem);
  int sync_mode = static_cast<int>(SyncMode::kAuto);
  gint64 offset = 0;
};

/// Returns the properties, for the attacher and the bin around it.
const PropertyTable<ReplayProps>& replay_properties();

}  // namespace keepbox

// The source inside tensorreplay: a black frame per recorded frame, at its time.

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
