// SPDX-License-Identifier: LGPL-2.1-or-later
// The meta beside GstAnalyticsODMtd: what the integers there cannot hold.
#pragma once

#include <gst/gst.h>

#include <span>

namespace keepbox {

/// One box as it was decoded. Coordinates are pixels of the video frame, edges exclusive at the
/// right and the bottom. libkeepbox reads what the plugin writes: another layout needs another name
/// of the meta.
struct BoxRecord {
  guint od_id;     // of the GstAnalyticsODMtd with the same box, rounded
  guint class_id;  // as the model numbers it
  guint anchor;    // row or cell of the tensor
  gfloat score;
  gfloat x1, y1, x2, y2;
  gfloat angle;    // radians, clockwise; 0 for upright boxes
};

/// Adds boxes, ordered by od_id and after those that are there. The meta follows the buffer through
/// copies and is scaled with the video; transforms that it does not know drop it.
/// @return the added records, for the caller to fill.
std::span<BoxRecord> add_box_meta(GstBuffer* buffer, size_t count);

/// The buffer's boxes; empty when it has none. Valid until boxes are added or it is freed. Does not
/// register the meta.
std::span<const BoxRecord> get_box_meta(GstBuffer* buffer);

/// The meta's API type.
GType box_meta_api_type();

/// The record for a GstAnalyticsODMtd, or nullptr.
const BoxRecord* find_box(std::span<const BoxRecord> boxes, guint od_id);

}  // namespace keepbox
