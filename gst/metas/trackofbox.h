// SPDX-License-Identifier: LGPL-2.1-or-later
// The track of a box: its GstAnalyticsTrackingMtd.
#pragma once

#include <gst/analytics/analytics.h>

#include <optional>

namespace keepbox {

struct TrackInfo {
  guint64 id = 0;
  GstClockTime first_seen = 0, last_seen = 0;
  bool lost = false;
};

/// Returns the track that a box is related to, if there is one.
std::optional<TrackInfo> track_of(GstAnalyticsRelationMeta* meta, guint od_id);

/// Relates a box to a new mtd of its track.
void add_track(GstAnalyticsRelationMeta* meta, guint od_id, const TrackInfo& track);

}  // namespace keepbox
