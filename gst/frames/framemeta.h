// SPDX-License-Identifier: LGPL-2.1-or-later
// The meta that carries a full-resolution frame past the scaler and the model.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// A frame as it was before scaling. Follows the buffer through copies, scaling and conversion.
struct SavedFrame {
  GstBuffer* frame = nullptr;  // owned by the meta
  GstCaps* caps = nullptr;     // its caps, owned by the meta
};

/// @param frame, caps transfer none.
void add_saved_frame(GstBuffer* buffer, GstBuffer* frame, GstCaps* caps);

bool is_saved_frame(const GstMeta& meta);

/// The saved frame, or nulls. Valid while the buffer is.
SavedFrame get_saved_frame(GstBuffer* buffer);

}  // namespace keepbox
