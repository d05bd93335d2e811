// SPDX-License-Identifier: LGPL-2.1-or-later
// Lets the boxes of a frame reach another process through unixfdsink and similar sinks.
//
// GStreamer has no serializer of GstAnalyticsRelationMeta. A meta of ours on the same buffer has
// one: it holds nothing, and packs the boxes that the buffer has when it is asked for bytes. Where
// the bytes arrive, they become boxes like a decoder's.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Registers the meta with GStreamer, which must know it before bytes arrive.
void register_wire_meta();

/// Adds the meta to a writable buffer that does not have it.
void add_wire_meta(GstBuffer* buffer);

}  // namespace keepbox
