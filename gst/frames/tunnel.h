// SPDX-License-Identifier: LGPL-2.1-or-later
// Communication of framesave and framerestore past the elements between them.
//
//   ... ! framesave ! scaler ! model ! decoder ! framerestore ! ...
//
// Queries about the full frame (caps, allocation) and requests for new caps concern the neighbours
// of the pair, not the scaler: they travel between the two inside custom queries and events, which
// elements forward. Pairs may be nested: a message counts the pairs that it is inside of.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>

#include "core/formula/letterbox.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// Queries the other side of the pair: the peer of the other element's outer pad answers.
/// @param inner framesave's src or framerestore's sink pad.
/// @return true if there was an answer.
bool tunnel_query(GstPad* inner, GstQuery* query);

/// Handles queries of an inner pad: a message for this element goes on to the peer of its
/// outer pad, a message for an enclosing pair leaves this pair. After a tee there are several such
/// elements; the answer then combines all of theirs. @return true if it was such a message;
/// `result` is then the value to return.
bool answer_tunnelled_query(GstPad* outer, GstQuery* query, gboolean& result);

/// Handles queries of an outer pad: a message of an enclosing pair enters this pair.
bool tunnel_enclosing_query(GstPad* inner, GstQuery* query, gboolean& result);

/// Wraps an event to travel inside this pair, transfer full.
GstEvent* tunnel_event(GstEvent* event);
/// Unwraps an event that reached the inner pad: returns its content, or the event itself with its
/// depth lowered by one. Other events are returned unchanged. Transfer full.
GstEvent* untunnel_event(GstEvent* event);
/// Raises the depth of a wrapped event that enters this pair from outside.
GstEvent* tunnel_enclosing_event(GstEvent* event);

/// Makes a sticky event that announces the caps of the frames kept by framesave.
GstEvent* saved_caps_event(GstCaps* caps);
/// Returns the caps of such an event if it is for this pair, transfer none; else nullptr.
GstCaps* saved_caps_of(GstEvent* event);

// Metas that carry a full frame past the scaler and the model, and the transform of its pixels.

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
