// SPDX-License-Identifier: LGPL-2.1-or-later
// Class and track of a box, and the label lists of a frame.
#include "gst/metas/labels.h"

#include <algorithm>

#include <set>

#include "gst/metas/records.h"

namespace keepbox {
namespace {

BoxClasses read_classification(const GstAnalyticsMtd& mtd) {
  BoxClasses out;
  const auto* cls = reinterpret_cast<const GstAnalyticsClsMtd*>(&mtd);
  for (gsize i = 0; i < gst_analytics_cls_mtd_get_length(cls); ++i) {
    out.names.push_back(gst_analytics_cls_mtd_get_quark(cls, i));
    out.levels.push_back(gst_analytics_cls_mtd_get_level(cls, i));
  }
  return out;
}

GstAnalyticsRelTypes kept(guint32 relation) {
  return static_cast<GstAnalyticsRelTypes>(relation & (GST_ANALYTICS_REL_TYPE_IS_PART_OF |
                                                       GST_ANALYTICS_REL_TYPE_CONTAIN |
                                                       GST_ANALYTICS_REL_TYPE_RELATE_TO));
}

/// Adds the ids of the classifications that a box is related to.
void add_related(GstAnalyticsRelationMeta* meta, guint od_id, std::set<guint>& out) {
  gpointer state = nullptr;
  GstAnalyticsMtd found;
  while (gst_analytics_relation_meta_get_direct_related(meta, od_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                        gst_analytics_cls_mtd_get_mtd_type(),
                                                        &state, &found))
    out.insert(found.id);
}

bool is_of_box(GstAnalyticsRelationMeta* meta, guint cls_id) {
  gpointer state = nullptr;
  GstAnalyticsMtd found;
  return gst_analytics_relation_meta_get_direct_related(meta, cls_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                        gst_analytics_od_mtd_get_mtd_type(), &state,
                                                        &found);
}

}  // namespace

std::vector<BoxClasses> classes_of(GstAnalyticsRelationMeta* meta, guint od_id) {
  std::vector<BoxClasses> out;
  gpointer state = nullptr;
  GstAnalyticsMtd found;
  while (gst_analytics_relation_meta_get_direct_related(meta, od_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                        gst_analytics_cls_mtd_get_mtd_type(),
                                                        &state, &found)) {
    out.push_back(read_classification(found));
    out.back().from_box = gst_analytics_relation_meta_get_relation(meta, od_id, found.id);
    out.back().to_box = gst_analytics_relation_meta_get_relation(meta, found.id, od_id);
  }
  return out;
}

std::vector<BoxClasses> classes_of_frame(GstAnalyticsRelationMeta* meta) {
  if (meta == nullptr) return {};
  std::set<guint> of_boxes;
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (
      gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &mtd))
    add_related(meta, mtd.id, of_boxes);
  std::vector<BoxClasses> out;
  state = nullptr;
  while (
      gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_cls_mtd_get_mtd_type(), &mtd))
    if (!of_boxes.contains(mtd.id) && !is_of_box(meta, mtd.id))
      out.push_back(read_classification(mtd));
  return out;
}

void add_classes(GstAnalyticsRelationMeta* meta, guint od_id, const BoxClasses& classes) {
  if (classes.names.empty()) return;
  BoxClasses own = classes;  // GStreamer takes pointers to what is not const
  GstAnalyticsClsMtd cls;
  gst_analytics_relation_meta_add_cls_mtd(meta, own.names.size(), own.levels.data(),
                                          own.names.data(), &cls);
  if (od_id == G_MAXUINT) return;
  gst_analytics_relation_meta_set_relation(meta, kept(own.from_box), od_id, cls.id);
  gst_analytics_relation_meta_set_relation(meta, kept(own.to_box), cls.id, od_id);
}

BoxLabels read_frame_labels(GstBuffer* buffer) {
  BoxLabels out;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return out;
  Records(meta).read_labels(kWholeFrame, out);
  for (const BoxClasses& classes : classes_of_frame(meta))
    if (!classes.names.empty()) out.add_class(classes.names[0], classes.levels[0]);
  return out;
}

namespace {

std::optional<GstAnalyticsMtd> find_track(GstAnalyticsRelationMeta* meta, guint od_id) {
  GstAnalyticsMtd found;
  gpointer state = nullptr;
  const bool has = gst_analytics_relation_meta_get_direct_related(
      meta, od_id, GST_ANALYTICS_REL_TYPE_ANY, gst_analytics_tracking_mtd_get_mtd_type(), &state,
      &found);
  return has ? std::optional(found) : std::nullopt;
}

std::optional<TrackInfo> info_of(std::optional<GstAnalyticsMtd> track) {
  TrackInfo out;
  gboolean lost = FALSE;
  if (!track ||
      !gst_analytics_tracking_mtd_get_info(reinterpret_cast<GstAnalyticsTrackingMtd*>(&*track),
                                           &out.id, &out.first_seen, &out.last_seen, &lost))
    return std::nullopt;
  out.lost = lost != FALSE;
  return out;
}

}  // namespace

std::optional<TrackInfo> track_of(GstAnalyticsRelationMeta* meta, guint od_id) {
  return info_of(find_track(meta, od_id));
}

TrackFinder::TrackFinder(GstAnalyticsRelationMeta* meta) : meta_(meta) {
  gpointer state = nullptr;
  GstAnalyticsMtd track;
  while (gst_analytics_relation_meta_iterate(meta, &state,
                                             gst_analytics_tracking_mtd_get_mtd_type(), &track))
    tracks_.push_back(track);
}

std::optional<TrackInfo> TrackFinder::of(guint od_id) {
  if (next_ < tracks_.size() && gst_analytics_relation_meta_get_relation(
                                    meta_, od_id, tracks_[next_].id) != GST_ANALYTICS_REL_TYPE_NONE)
    return info_of(tracks_[next_++]);
  const auto found = find_track(meta_, od_id);
  if (!found) return std::nullopt;
  const auto at = std::ranges::find(tracks_, found->id, &GstAnalyticsMtd::id);
  next_ = static_cast<size_t>(at - tracks_.begin()) + 1;
  return info_of(found);
}

void add_track(GstAnalyticsRelationMeta* meta, guint od_id, const TrackInfo& track) {
  GstAnalyticsTrackingMtd mtd;
  gst_analytics_relation_meta_add_tracking_mtd(meta, track.id, track.first_seen, &mtd);
  gst_analytics_tracking_mtd_update_last_seen(&mtd, track.last_seen);
  if (track.lost) gst_analytics_tracking_mtd_set_lost(&mtd);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, mtd.id);
}

}  // namespace keepbox
