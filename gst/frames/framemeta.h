// SPDX-License-Identifier: LGPL-2.1-or-later
// Metas that carry a full frame past the scaler and the model, and the transform of its pixels.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>

#include "core/formula/letterbox.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// A frame before scaling. Stays on the buffer through all elements that keep metas.
struct SavedFrame {
  GstBuffer* frame = nullptr;  // owned by the meta
  GstCaps* caps = nullptr;     // its caps, owned by the meta
};

/// Saves a frame on a buffer that shows the same picture, and starts recording its transform.
/// @param frame transfer none. @param picture from its caps. @param place released when no buffer
/// holds the saved frame.
void add_saved_frame(GstBuffer* buffer, const SavedFrame& frame, const Picture& picture,
                     std::shared_ptr<const void> place);

/// Returns the saved frame, or nulls. Valid while the buffer is.
SavedFrame get_saved_frame(GstBuffer* buffer);

/// Takes the saved frame and its transform off a buffer. Transfer full; nullptr if there is none.
/// @pre the buffer is writable.
GstBuffer* take_saved_frame(GstBuffer* buffer);

/// True if it is the API of one of these metas.
bool is_saved_frame(GType api);

/// Returns the map from the saved frame's pixels to the buffer's. If GStreamer did not record how a
/// scaler fitted the picture, `mode` is used.
/// @param frame the picture of the saved one. @param scaled the buffer's picture, from its caps.
/// std::nullopt if an element dropped the transform.
std::optional<PixelMap> map_from_saved(GstBuffer* buffer, const Picture& scaled, ResizeMode mode);

}  // namespace keepbox
