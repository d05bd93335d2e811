// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads and writes tracks as GStreamer has them.
#include "gst/metas/trackofbox.h"

namespace keepbox {

std::optional<TrackInfo> track_of(GstAnalyticsRelationMeta* meta, guint od_id) {
  GstAnalyticsMtd found;
  gpointer state = nullptr;
  TrackInfo out;
  gboolean lost = FALSE;
  if (!gst_analytics_relation_meta_get_direct_related(meta, od_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                      gst_analytics_tracking_mtd_get_mtd_type(),
                                                      &state, &found) ||
      !gst_analytics_tracking_mtd_get_info(reinterpret_cast<GstAnalyticsTrackingMtd*>(&found),
                                           &out.id, &out.first_seen, &out.last_seen, &lost))
    return std::nullopt;
  out.lost = lost != FALSE;
  return out;
}

void add_track(GstAnalyticsRelationMeta* meta, guint od_id, const TrackInfo& track) {
  GstAnalyticsTrackingMtd mtd;
  gst_analytics_relation_meta_add_tracking_mtd(meta, track.id, track.first_seen, &mtd);
  gst_analytics_tracking_mtd_update_last_seen(&mtd, track.last_seen);
  if (track.lost) gst_analytics_tracking_mtd_set_lost(&mtd);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, mtd.id);
}

}  // namespace keepbox
