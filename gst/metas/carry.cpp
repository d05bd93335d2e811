// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries the analytics of a frame over to another one that shows the same picture.
#include <gst/analytics/analytics.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "gst/metas/analytics.h"
#include "gst/metas/boxrecords.h"
#include "gst/tensors/tensorwalk.h"

namespace keepbox {
namespace {

/// One frame's relation meta on its way into another's.
class Carrier {
 public:
  Carrier(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to, const GstVideoInfo& to_info,
          const PixelMap& map, const MovedSource& moved)
      : from_(from),
        to_(to),
        from_info_(from_info),
        to_info_(to_info),
        map_(map),
        moved_(moved),
        frame_{static_cast<uint32_t>(to_info.width), static_cast<uint32_t>(to_info.height)} {}

  void carry_mtds();
  void carry_regions();

 private:
  Placed place(const GstAnalyticsODMtd& od, const BoxRecords& records) const;
  Placed add_od(const GstAnalyticsODMtd& od, const BoxRecords& records);
  guint add_mask(const GstAnalyticsSegmentationMtd& mask);
  gpointer add_bytes(const GstAnalyticsMtd& mtd, GstAnalyticsMtd& added);
  guint add_other(const GstAnalyticsMtd& mtd);
  bool lost_its_object(const GstAnalyticsMtd& tensor) const;
  void carry_tensor(const GstAnalyticsMtd& mtd);
  Placed carry_mtd(const GstAnalyticsMtd& mtd, const BoxRecords& records);
  void carry_relations(guint a);
  void carry_region(const GstVideoRegionOfInterestMeta& region);
  gint renamed(const GstVideoRegionOfInterestMeta& region, gint id) const;

  GstBuffer *from_, *to_;
  GstVideoInfo from_info_, to_info_;  // copies: GStreamer's transforms take pointers to them
  const PixelMap& map_;
  const MovedSource& moved_;
  Size frame_;
  GstAnalyticsRelationMeta *source_ = nullptr, *target_ = nullptr;
  std::vector<Placed> placed_;  // by the source's ids
  std::set<GstAnalyticsMtdType> types_;  // of the source's mtds
};

bool is_od(const GstAnalyticsMtd& mtd) {
  return gst_analytics_mtd_get_mtd_type(&mtd) == gst_analytics_od_mtd_get_mtd_type();
}

/// Does it lie outside the frame, whichever way it is turned?
bool is_outside(const Placed& placed, Size frame) {
  const Box& b = placed.box;
  if (placed.angle == 0) return is_empty(clip(b, frame));
  const auto turn = PixelMap({std::cos(placed.angle), -std::sin(placed.angle), 0,
                              std::sin(placed.angle), std::cos(placed.angle), 0, 0, 0, 1});
  const float x = (b.x1 + b.x2) / 2, y = (b.y1 + b.y2) / 2;
  Box around = turn(Box{b.x1 - x, b.y1 - y, b.x2 - x, b.y2 - y});
  around = {around.x1 + x, around.y1 + y, around.x2 + x, around.y2 + y};
  return is_empty(clip(around, frame));
}

Placed Carrier::place(const GstAnalyticsODMtd& od, const BoxRecords& records) const {
  const Detected at = detected(od);
  const auto found = records.find(od.id, at);
  TurnedBox box{{static_cast<float>(at.x), static_cast<float>(at.y),
                 static_cast<float>(at.x + at.width), static_cast<float>(at.y + at.height)},
                at.angle};
  if (found)
    box = {{found->record.x1, found->record.y1, found->record.x2, found->record.y2},
           found->record.angle};
  box = map_(box);
  Placed out{.box = box.box, .angle = box.angle, .precise = found.has_value()};
  if (is_outside(out, frame_)) return {};
  if (out.angle == 0) out.box = clip(out.box, frame_);
  out.od_id = 0;
  return out;
}

Placed Carrier::add_od(const GstAnalyticsODMtd& od, const BoxRecords& records) {
  Placed placed = place(od, records);
  if (placed.od_id == G_MAXUINT) return placed;
  const Pixels at = rounded(placed.box, placed.angle == 0 ? frame_ : Size{});
  const Detected as = detected(od);
  GstAnalyticsODMtd added;
  gst_analytics_relation_meta_add_oriented_od_mtd(target_, as.label, at.x, at.y, at.width,
                                                  at.height, placed.angle, as.score, &added);
  placed.od_id = added.id;
  return placed;
}

/// Its place is mapped; the mask itself keeps its resolution, as everywhere in GStreamer.
guint Carrier::add_mask(const GstAnalyticsSegmentationMtd& mask) {
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  GstBuffer* pixels = gst_analytics_segmentation_mtd_get_mask(&mask, &x, &y, &width, &height);
  std::vector<guint> regions(gst_analytics_segmentation_mtd_get_region_count(&mask));
  for (gsize i = 0; i < regions.size(); ++i)
    regions[i] = gst_analytics_segmentation_mtd_get_region_id(&mask, i);
  // One without a size keeps none.
  Pixels at{0, 0, 0, 0};
  if (width != 0 && height != 0) {
    const auto left = static_cast<float>(x), top = static_cast<float>(y);
    at = rounded(map_(Box{left, top, left + static_cast<float>(width),
                          top + static_cast<float>(height)}), {});
  }
  GstAnalyticsSegmentationMtd added;
  gst_analytics_relation_meta_add_segmentation_mtd(
      target_, pixels, GST_SEGMENTATION_TYPE_INSTANCE, regions.size(), regions.data(), at.x, at.y,
      static_cast<guint>(at.width), static_cast<guint>(at.height), &added);
  return added.id;
}

const GstAnalyticsMtdImpl* impl_of(const GstAnalyticsMtd& mtd) {
  return reinterpret_cast<const GstAnalyticsMtdImpl*>(gst_analytics_mtd_get_mtd_type(&mtd));
}

gpointer Carrier::add_bytes(const GstAnalyticsMtd& mtd, GstAnalyticsMtd& added) {
  const gsize size = gst_analytics_mtd_get_size(&mtd);
  gpointer data = gst_analytics_relation_meta_add_mtd(target_, impl_of(mtd), size, &added);
  std::memcpy(data, gst_analytics_relation_meta_get_mtd_data(mtd.meta, mtd.id), size);
  return data;
}

/// Bytes as they are, and then what the type itself does for a copy and for another picture.
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

/// An object's tensor whose object stayed behind would pass for one of the frame.
bool Carrier::lost_its_object(const GstAnalyticsMtd& tensor) const {
  bool lost = false;
  gpointer state = nullptr;
  GstAnalyticsMtd od;
  while (gst_analytics_relation_meta_iterate(source_, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &od)) {
    if (od.id >= placed_.size() || !are_related(tensor, od)) continue;
    if (placed_[od.id].od_id != G_MAXUINT) return false;
    lost = true;
  }
  return lost;
}

/// Not by its type's transform, which takes a reference for every transform that it is offered.
void Carrier::carry_tensor(const GstAnalyticsMtd& mtd) {
  if (mtd.id >= placed_.size() || lost_its_object(mtd)) return;
  GstAnalyticsMtd added;
  auto* tensor = static_cast<GstTensor*>(add_bytes(mtd, added));
  if (tensor->data != nullptr) {
    gst_buffer_ref(tensor->data);
    move_source(tensor, to_, moved_);
  }
  placed_[mtd.id].od_id = added.id;
}

Placed Carrier::carry_mtd(const GstAnalyticsMtd& mtd, const BoxRecords& records) {
  const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&mtd);
  const auto& as_od = reinterpret_cast<const GstAnalyticsODMtd&>(mtd);
  const auto& as_mask = reinterpret_cast<const GstAnalyticsSegmentationMtd&>(mtd);
  if (is_od(mtd)) return add_od(as_od, records);
  if (is_records(type)) return {};
  if (type == gst_analytics_segmentation_mtd_get_mtd_type()) return {.od_id = add_mask(as_mask)};
  return {.od_id = add_other(mtd)};
}

/// Found by GStreamer's search, type by type: a call for every pair would take longer, and one for any
/// type is a critical where that is traced.
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
  target_ = relation_meta_for(to_, count, count);
  placed_.resize(count);
  const BoxRecords records(source_);
  std::vector<GstAnalyticsMtd> with_records, tensors;  // behind the rest: they want all ids
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(source_, &state, GST_ANALYTICS_MTD_TYPE_ANY, &mtd)) {
    const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&mtd);
    const bool tensor = is_tensor_mtd(type);
    if (mtd.id < count && !tensor) placed_[mtd.id] = carry_mtd(mtd, records);
    if (tensor) tensors.push_back(mtd);
    if (is_records(type)) with_records.push_back(mtd);
    else types_.insert(type);
  }
  for (const GstAnalyticsMtd& each : tensors) carry_tensor(each);
  for (guint a = 0; a < placed_.size(); ++a)
    if (placed_[a].od_id != G_MAXUINT) carry_relations(a);
  for (const GstAnalyticsMtd& each : with_records) carry_records(each, target_, placed_);
}

/// DL Streamer's normalised coordinates, which a letterbox changes.
void map_detection(GstStructure* param, const PixelMap& map, const GstVideoInfo& from,
                   const GstVideoInfo& to) {
  double x1, y1, x2, y2;
  if (!gst_structure_get(param, "x_min", G_TYPE_DOUBLE, &x1, "y_min", G_TYPE_DOUBLE, &y1, "x_max",
                         G_TYPE_DOUBLE, &x2, "y_max", G_TYPE_DOUBLE, &y2, nullptr))
    return;
  const auto a = map.point(x1 * from.width, y1 * from.height);
  const auto b = map.point(x2 * from.width, y2 * from.height);
  const auto inside = [](double v, double side) { return std::clamp(v / side, 0.0, 1.0); };
  gst_structure_set(param, "x_min", G_TYPE_DOUBLE, inside(std::min(a.x, b.x), to.width), "x_max",
                    G_TYPE_DOUBLE, inside(std::max(a.x, b.x), to.width), "y_min", G_TYPE_DOUBLE,
                    inside(std::min(a.y, b.y), to.height), "y_max", G_TYPE_DOUBLE,
                    inside(std::max(a.y, b.y), to.height), nullptr);
}

/// A region of a detection has its id and is called as it is: then it keeps naming it. Others have
/// ids of their own.
gint Carrier::renamed(const GstVideoRegionOfInterestMeta& region, gint id) const {
  GstAnalyticsODMtd od;
  const auto number = static_cast<guint>(id);
  if (id < 0 || number >= placed_.size() || placed_[number].od_id == G_MAXUINT ||
      !gst_analytics_relation_meta_get_od_mtd(source_, number, &od) ||
      gst_analytics_od_mtd_get_obj_type(&od) != region.roi_type)
    return id;
  return static_cast<gint>(placed_[number].od_id);
}

void Carrier::carry_region(const GstVideoRegionOfInterestMeta& region) {
  const auto x = static_cast<float>(region.x), y = static_cast<float>(region.y);
  const Box box = clip(map_(Box{x, y, x + static_cast<float>(region.w),
                                y + static_cast<float>(region.h)}), frame_);
  if (is_empty(box)) return;
  const Pixels at = rounded(box, frame_);
  auto* added = gst_buffer_add_video_region_of_interest_meta_id(
      to_, region.roi_type, static_cast<guint>(at.x), static_cast<guint>(at.y),
      static_cast<guint>(at.width), static_cast<guint>(at.height));
  added->id = renamed(region, region.id);
  added->parent_id = region.parent_id;
  for (GList* each = region.params; each != nullptr; each = each->next) {
    GstStructure* param = gst_structure_copy(static_cast<GstStructure*>(each->data));
    map_detection(param, map_, from_info_, to_info_);
    gst_video_region_of_interest_meta_add_param(added, param);
  }
}

void Carrier::carry_regions() {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             from_, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    carry_region(*reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta));
}

}  // namespace

void carry_analytics(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
                     const GstVideoInfo& to_info, const PixelMap& map, const MovedSource& moved) {
  Carrier carrier(from, from_info, to, to_info, map, moved);
  carrier.carry_mtds();
  carrier.carry_regions();
}

}  // namespace keepbox
