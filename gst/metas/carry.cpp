// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries the analytics of a frame to another frame that shows the same picture.
#include "gst/metas/carry.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "gst/metas/carrier.h"
#include "gst/metas/records/labelrecords.h"
#include "gst/metas/records/payloadrecords.h"
#include "gst/metas/records/picturerecords.h"
#include "gst/metas/relationmeta.h"

namespace keepbox {
namespace {

bool is_od(const GstAnalyticsMtd& mtd) {
  return gst_analytics_mtd_get_mtd_type(&mtd) == gst_analytics_od_mtd_get_mtd_type();
}

const GstAnalyticsMtdImpl* impl_of(const GstAnalyticsMtd& mtd) {
  return reinterpret_cast<const GstAnalyticsMtdImpl*>(gst_analytics_mtd_get_mtd_type(&mtd));
}

bool is_ours(GstAnalyticsMtdType type) {
  return is_records(type) || is_payload(type) || is_masks(type) || is_pictures(type) ||
         is_labels(type);
}

}  // namespace

Placed Carrier::place(const GstAnalyticsODMtd& od, const BoxRecords& records) const {
  const Detected at = detected(od);
  const auto found = records.find(od.id, at);
  OrientedBox box{{static_cast<float>(at.x), static_cast<float>(at.y),
                   static_cast<float>(at.x + at.width), static_cast<float>(at.y + at.height)},
                  at.angle};
  if (found)
    box = {{found->record.x1, found->record.y1, found->record.x2, found->record.y2},
           found->record.angle};
  box = map_(box);
  Placed out{.box = box.box, .angle = box.angle, .precise = found.has_value()};
  if (is_empty(clip(around(box), frame_))) return {};
  if (out.angle == 0) out.box = clip(out.box, frame_);
  out.od_id = 0;
  return out;
}

/// True if the box that a box is a part of is not on the target, or that box's own parent.
bool Carrier::lost_its_parent(const GstAnalyticsODMtd& od, const BoxRecords& records) const {
  constexpr int kMaxRelations = 8;  // relations of other elements may form a cycle
  GstAnalyticsODMtd at = od;
  for (int level = 0; level < kMaxRelations; ++level) {
    const auto found = records.find(at.id, detected(at));
    const auto parent = found && !found->model.parts ? std::nullopt : parent_of(source_, at.id);
    if (!parent || !gst_analytics_relation_meta_get_od_mtd(source_, *parent, &at)) return false;
    if (place(at, records).od_id == G_MAXUINT) return true;
  }
  return false;
}

Placed Carrier::add_od(const GstAnalyticsODMtd& od, const BoxRecords& records) {
  Placed placed = place(od, records);
  if (placed.od_id == G_MAXUINT || lost_its_parent(od, records)) return {};
  const Pixels at = rounded(placed.box, placed.angle == 0 ? frame_ : Size{});
  const Detected as = detected(od);
  GstAnalyticsODMtd added;
  gst_analytics_relation_meta_add_oriented_od_mtd(target_, as.label, at.x, at.y, at.width,
                                                  at.height, placed.angle, as.score, &added);
  placed.od_id = added.id;
  return placed;
}

gpointer Carrier::add_bytes(const GstAnalyticsMtd& mtd, GstAnalyticsMtd& added) {
  const gsize size = gst_analytics_mtd_get_size(&mtd);
  gpointer data = gst_analytics_relation_meta_add_mtd(target_, impl_of(mtd), size, &added);
  std::memcpy(data, gst_analytics_relation_meta_get_mtd_data(mtd.meta, mtd.id), size);
  return data;
}

/// Copies the bytes, then lets the type itself handle a copy and a transform to another picture.
guint Carrier::add_other(const GstAnalyticsMtd& mtd) {
  const auto* impl = impl_of(mtd);
  GstAnalyticsMtd added;
  add_bytes(mtd, added);
  if (impl->mtd_meta_transform == nullptr) return added.id;
  GstMetaTransformCopy whole{FALSE, 0, static_cast<gsize>(-1)};
  impl->mtd_meta_transform(to_, &added, from_, g_quark_from_static_string("gst-copy"), &whole);
  offer(map_, from_info_, to_info_, [&](GQuark type, gpointer change) {
    return impl->mtd_meta_transform(to_, &added, from_, type, change);
  });
  return added.id;
}

/// Uses GStreamer's search per type: testing all pairs would be slower, and a search for any type
/// causes criticals if traced.
void Carrier::carry_relations(guint a) {
  for (const GstAnalyticsMtdType type : types_) {
    gpointer state = nullptr;
    GstAnalyticsMtd b;
    while (gst_analytics_relation_meta_get_direct_related(source_, a, GST_ANALYTICS_REL_TYPE_ANY,
                                                          type, &state, &b))
      if (b.id < placed_.size() && placed_[b.id].od_id != G_MAXUINT)
        gst_analytics_relation_meta_set_relation(
            target_, gst_analytics_relation_meta_get_relation(source_, a, b.id), placed_[a].od_id,
            placed_[b.id].od_id);
  }
}

void Carrier::carry_mtds() {
  source_ = gst_buffer_get_analytics_relation_meta(from_);
  if (source_ == nullptr) return;
  const gsize count = gst_analytics_relation_get_length(source_);
  target_ = relation_meta_for(to_, count, bytes_of_records(count));
  placed_.resize(count);
  const BoxRecords records(source_);
  std::vector<GstAnalyticsMtd> ours, parts;  // added last, because they refer to ids
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(source_, &state, GST_ANALYTICS_MTD_TYPE_ANY, &mtd)) {
    const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&mtd);
    if (is_ours(type)) {
      ours.push_back(mtd);
      continue;
    }
    types_.insert(type);
    if (mtd.id >= count) continue;
    if (is_part(type)) parts.push_back(mtd);
    else if (!is_od(mtd)) placed_[mtd.id] = {.od_id = add_other(mtd)};
    else placed_[mtd.id] = add_od(reinterpret_cast<const GstAnalyticsODMtd&>(mtd), records);
  }
  carry_parts(parts);
  for (guint a = 0; a < placed_.size(); ++a)
    if (placed_[a].od_id != G_MAXUINT) carry_relations(a);
  for (const GstAnalyticsMtd& each : ours) {
    const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&each);
    if (is_records(type)) carry_records(each, target_, placed_, map_);
    if (is_payload(type)) carry_payload(each, target_, placed_, map_);
    if (is_pictures(type)) carry_pictures(each, target_, placed_, map_);
    if (is_labels(type)) carry_labels(each, target_, placed_);
  }
  std::ranges::sort(mask_records_, {}, &MaskRecord::od_id);
  add_masks(target_, mask_records_);
}

void carry_analytics(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
                     const GstVideoInfo& to_info, const PixelMap& map,
                     const MovedProvenance& moved) {
  Carrier carrier(from, from_info, to, to_info, map, moved);
  carrier.carry_mtds();
  carrier.carry_regions();
}

}  // namespace keepbox
