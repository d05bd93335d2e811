// SPDX-License-Identifier: LGPL-2.1-or-later
// Changes to answers of neighbours, for an element that holds frames back.
#pragma once

#include <gst/gst.h>

#include <optional>

namespace keepbox {

/// Answers a latency query with upstream's latency and an element's own.
/// @param sink the element's sink pad.
/// @return true if the source is live; std::nullopt if upstream does not answer.
std::optional<bool> add_latency(GstPad* sink, GstQuery* query, GstClockTime own);

/// Removes crop metas from the answer to an allocation query.
void drop_crop_meta(GstQuery* query);

/// Adds the frames that are held back to the buffers of pools in the answer to an allocation query.
void raise_pools(GstQuery* query, guint held);

}  // namespace keepbox
