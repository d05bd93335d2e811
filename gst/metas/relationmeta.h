// SPDX-License-Identifier: LGPL-2.1-or-later
// The relation meta of a frame: its size, and boxes as it has them.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <optional>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"

namespace keepbox {

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

}  // namespace keepbox
