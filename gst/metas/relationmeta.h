// SPDX-License-Identifier: LGPL-2.1-or-later
// The relation meta of a frame: found, made, copied and serialized.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <optional>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"

namespace keepbox {

// The relation meta of a frame: its size, and boxes as it has them.

/// A detection in pixels: edges rounded, at least one apart, inside the frame if its size is known.
struct Pixels {
  gint x, y, width, height;
};
Pixels rounded(const Box& box, Size frame);

/// Returns the relation meta of a buffer, or makes one for that many mtds and that many bytes of
/// our own records; one of default size would grow quadratically.
GstAnalyticsRelationMeta* relation_meta_for(GstBuffer* buffer, gsize mtds, gsize bytes);

/// Returns the od_id of the box that a box is a part of (IS_PART_OF), if there is one.
std::optional<guint> parent_of(GstAnalyticsRelationMeta* meta, guint od_id);

/// True if it is the API of a meta that holds boxes.
bool is_analytics(GType api);

// Lets the boxes of a frame reach another process through unixfdsink and similar sinks.
//
// GStreamer has no serializer of GstAnalyticsRelationMeta. A meta of ours on the same buffer has
// one: it holds nothing, and packs the boxes that the buffer has when it is asked for bytes. Where
// the bytes arrive, they become boxes like a decoder's.

/// Registers the meta with GStreamer, which must know it before bytes arrive.
void register_wire_meta();

/// Adds the meta to a writable buffer that does not have it.
void add_wire_meta(GstBuffer* buffer);

}  // namespace keepbox
