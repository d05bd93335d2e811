// SPDX-License-Identifier: LGPL-2.1-or-later
// The metas that carry a full frame past the scaler and the model, and the way that its pixels went.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>

#include "core/letterbox.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// A frame as it was before scaling. Follows the buffer through everything that keeps metas.
struct SavedFrame {
  GstBuffer* frame = nullptr;  // owned by the meta
  GstCaps* caps = nullptr;     // its caps, owned by the meta
};

/// Saves a frame on a buffer that shows the same picture, and begins the way of its pixels.
/// @param frame transfer none. @param picture of its caps. @param place goes when no buffer has the
/// frame saved any more.
void add_saved_frame(GstBuffer* buffer, const SavedFrame& frame, const Picture& picture,
                     std::shared_ptr<const void> place);

/// The saved frame, or nulls. Valid while the buffer is.
SavedFrame get_saved_frame(GstBuffer* buffer);

/// Takes the saved frame off a buffer, with the way of its pixels. Transfer full; nullptr for none.
/// @pre the buffer is writable.
GstBuffer* take_saved_frame(GstBuffer* buffer);

/// Is it the API of one of these metas?
bool is_saved_frame(GType api);

/// The map from the saved frame's pixels to the buffer's. Where GStreamer did not say how a scaler
/// fitted the picture in, `mode` does.
/// @param frame the saved one's picture. @param scaled the buffer's, by its caps.
/// Nothing when an element on the way dropped what is known of the way.
std::optional<PixelMap> map_from_saved(GstBuffer* buffer, const Picture& scaled, ResizeMode mode);

}  // namespace keepbox
