// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries the analytics of a frame to another frame that shows the same picture.
#include "gst/metas/carry.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "core/formula/oriented.h"
#include "gst/metas/keypointgroups.h"
#include "gst/metas/masks.h"
#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// Carries one frame's relation meta over to another's.
class Carrier {
 public:
  Carrier(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
          const GstVideoInfo& to_info, const PixelMap& map, const MovedProvenance& moved)
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
  Placed place(const GstAnalyticsODMtd& od, const Records& records) const;
  bool lost_its_parent(const GstAnalyticsODMtd& od, const Records& records) const;
  Placed add_od(const GstAnalyticsODMtd& od, const Records& records);
  gpointer add_bytes(const GstAnalyticsMtd& mtd, GstAnalyticsMtd& added);
  guint add_other(const GstAnalyticsMtd& mtd);

  bool lost_its_object(const GstAnalyticsMtd& part) const;
  void carry_tensor(const GstAnalyticsMtd& mtd);
  void carry_mask(const GstAnalyticsMtd& mtd, const Records& records);
  void carry_group(const GstAnalyticsMtd& mtd);
  void carry_parts(std::span<const GstAnalyticsMtd> parts);

  void carry_relations(guint a);
  void carry_region(const GstVideoRegionOfInterestMeta& region);
  void rename(const GstVideoRegionOfInterestMeta& from, GstVideoRegionOfInterestMeta& to) const;

  GstBuffer *from_, *to_;
  GstVideoInfo from_info_, to_info_;  // copies, because transforms take non-const pointers
  const PixelMap& map_;
  const MovedProvenance& moved_;
  Size frame_;
  GstAnalyticsRelationMeta *source_ = nullptr, *target_ = nullptr;
  std::vector<Placed> placed_;            // indexed by the source's ids
  std::set<GstAnalyticsMtdType> types_;   // types of the source's mtds
  std::set<guint> grouped_;               // keypoints in groups of the source
  std::vector<MaskRecord> mask_records_;  // records of the target
};

/// True if an mtd goes with its object: tensors, masks, keypoints and their groups.
bool is_part(GstAnalyticsMtdType type);

namespace {

bool is_od(const GstAnalyticsMtd& mtd) {
  return gst_analytics_mtd_get_mtd_type(&mtd) == gst_analytics_od_mtd_get_mtd_type();
}

const GstAnalyticsMtdImpl* impl_of(const GstAnalyticsMtd& mtd) {
  return reinterpret_cast<const GstAnalyticsMtdImpl*>(gst_analytics_mtd_get_mtd_type(&mtd));
}

}  // namespace

Placed Carrier::place(const GstAnalyticsODMtd& od, const Records& records) const {
  const Detected at = detected(od);
  const auto found = records.box(od.id, at);
  OrientedBox box{{static_cast<float>(at.x), static_cast<float>(at.y),
                   static_cast<float>(at.x + at.width), static_cast<float>(at.y + at.height)},
                  at.angle};
  if (found) box = found->record.place();
  box = map_(box);
  Placed out{.box = box.box, .angle = box.angle, .precise = found.has_value()};
  if (is_empty(clip(around(box), frame_))) return {};
  if (out.angle == 0) out.box = clip(out.box, frame_);
  out.od_id = 0;
  return out;
}

/// True if the box that a box is a part of is not on the target, or that box's own parent.
bool Carrier::lost_its_parent(const GstAnalyticsODMtd& od, const Records& records) const {
  constexpr int kMaxRelations = 8;  // relations of other elements may form a cycle
  GstAnalyticsODMtd at = od;
  for (int level = 0; level < kMaxRelations; ++level) {
    const auto found = records.box(at.id, detected(at));
    const auto parent = found && !found->model.parts ? std::nullopt : parent_of(source_, at.id);
    if (!parent || !gst_analytics_relation_meta_get_od_mtd(source_, *parent, &at)) return false;
    if (place(at, records).od_id == G_MAXUINT) return true;
  }
  return false;
}

Placed Carrier::add_od(const GstAnalyticsODMtd& od, const Records& records) {
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
  target_ = relation_meta_for(to_, count, count * sizeof(BoxRecord));
  placed_.resize(count);
  const Records records(source_);
  std::vector<GstAnalyticsMtd> ours, parts;  // added last, because they refer to ids
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(source_, &state, GST_ANALYTICS_MTD_TYPE_ANY, &mtd)) {
    const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&mtd);
    if (is_record(type)) {
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
  for (const GstAnalyticsMtd& each : ours) carry_records(each, target_, placed_, map_);
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

namespace {

bool is_segmentation(GstAnalyticsMtdType type) {
  return type == gst_analytics_segmentation_mtd_get_mtd_type();
}

}  // namespace

bool is_part(GstAnalyticsMtdType type) {
  return is_tensor_mtd(type) || is_segmentation(type) || is_group(type) || is_keypoint(type);
}

/// True if a part's object was dropped; the part would look like one of the whole frame.
bool Carrier::lost_its_object(const GstAnalyticsMtd& part) const {
  bool lost = false;
  gpointer state = nullptr;
  GstAnalyticsMtd od;
  while (gst_analytics_relation_meta_iterate(source_, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &od)) {
    if (od.id >= placed_.size() || !are_related(part, od)) continue;
    if (placed_[od.id].od_id != G_MAXUINT) return false;
    lost = true;
  }
  return lost;
}

/// Bypasses the type's own transform, which takes a reference for every transform that it is
/// offered.
void Carrier::carry_tensor(const GstAnalyticsMtd& mtd) {
  GstAnalyticsMtd added;
  auto* tensor = static_cast<GstTensor*>(add_bytes(mtd, added));
  if (tensor->data != nullptr) {
    gst_buffer_ref(tensor->data);
    move_source(tensor, to_, moved_);
  }
  placed_[mtd.id].od_id = added.id;
}

/// Carries a mask at its resolution. A mask without a size is dropped.
void Carrier::carry_mask(const GstAnalyticsMtd& mtd, const Records& records) {
  const auto& mask = reinterpret_cast<const GstAnalyticsSegmentationMtd&>(mtd);
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  g_autoptr(GstBuffer) pixels =
      gst_analytics_segmentation_mtd_get_mask(&mask, &x, &y, &width, &height);
  std::vector<guint> regions(gst_analytics_segmentation_mtd_get_region_count(&mask));
  for (gsize i = 0; i < regions.size(); ++i)
    regions[i] = gst_analytics_segmentation_mtd_get_region_id(&mask, i);
  const auto left = static_cast<float>(x), top = static_cast<float>(y);
  Box place{left, top, left + static_cast<float>(width), top + static_cast<float>(height)};
  const auto record = records.mask(mtd.id);
  const bool precise = record && record->od_id < placed_.size() && placed_[record->od_id].precise;
  if (precise) place = record->place();
  const bool has_size = width != 0 && height != 0;
  const FrameMask moved =
      has_size ? moved_mask(pixels, place, map_) : FrameMask{gst_buffer_ref(pixels), {}};
  if (moved.pixels == nullptr) return;
  const Pixels at = has_size ? rounded(moved.place, {}) : Pixels{};
  GstAnalyticsSegmentationMtd added;
  gst_analytics_relation_meta_add_segmentation_mtd(
      target_, moved.pixels, GST_SEGMENTATION_TYPE_INSTANCE, regions.size(), regions.data(), at.x,
      at.y, static_cast<guint>(at.width), static_cast<guint>(at.height), &added);
  placed_[mtd.id].od_id = added.id;
  if (precise)
    mask_records_.push_back({placed_[record->od_id].od_id, added.id, moved.place.x1, moved.place.y1,
                             moved.place.x2, moved.place.y2});
}

/// Makes a new group with its keypoints, because a group refers to them by id.
void Carrier::carry_group(const GstAnalyticsMtd& mtd) {
  const KeypointApi& api = *keypoint_api();
  const bool lost = lost_its_object(mtd);
  const gsize count = api.members(&mtd);
  GstAnalyticsMtd group{}, member{};
  if (!lost) {
    g_autofree gchar* tag = api.tag(&mtd);
    api.add_group(target_, count, &group);
    api.set_tag(&group, tag);
    placed_[mtd.id].od_id = group.id;
  }
  for (gsize i = 0; i < count; ++i) {
    if (!api.member(&mtd, i, &member) || member.id >= placed_.size()) continue;
    const bool keypoint = is_keypoint(gst_analytics_mtd_get_mtd_type(&member));
    if (keypoint) grouped_.insert(member.id);
    if (lost) continue;
    Placed& there = placed_[member.id];
    if (keypoint && there.od_id == G_MAXUINT) there.od_id = carry_keypoint(member, target_, map_);
    if (there.od_id != G_MAXUINT) api.add_member(&group, there.od_id);
  }
}

/// Carries groups first, because they take their keypoints along or drop them.
void Carrier::carry_parts(std::span<const GstAnalyticsMtd> parts) {
  const Records records(source_);
  const auto type_of = [](const GstAnalyticsMtd& mtd) {
    return gst_analytics_mtd_get_mtd_type(&mtd);
  };
  for (const GstAnalyticsMtd& mtd : parts)
    if (is_group(type_of(mtd))) carry_group(mtd);
  for (const GstAnalyticsMtd& mtd : parts) {
    const GstAnalyticsMtdType type = type_of(mtd);
    if (is_group(type) || grouped_.contains(mtd.id) || lost_its_object(mtd)) continue;
    if (is_keypoint(type)) placed_[mtd.id].od_id = carry_keypoint(mtd, target_, map_);
    else if (is_segmentation(type)) carry_mask(mtd, records);
    else carry_tensor(mtd);
  }
}

namespace {

/// Maps DL Streamer's normalised coordinates, which a letterbox changes.
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

}  // namespace

/// Writes a region's ids: regions of a detection have its id, and their parent's, and follow both
/// to their new ids. Others keep their own.
void Carrier::rename(const GstVideoRegionOfInterestMeta& from,
                     GstVideoRegionOfInterestMeta& to) const {
  to.id = from.id, to.parent_id = from.parent_id;
  GstAnalyticsODMtd od;
  const auto id = static_cast<guint>(from.id), parent = static_cast<guint>(from.parent_id);
  if (!is_carried(placed_, id) || !gst_analytics_relation_meta_get_od_mtd(source_, id, &od) ||
      gst_analytics_od_mtd_get_obj_type(&od) != from.roi_type)
    return;
  to.id = static_cast<gint>(placed_[id].od_id);
  // Regions without a parent have 0, too.
  const bool has_parent =
      parent != 0 || (gst_analytics_relation_meta_get_relation(source_, id, parent) &
                      GST_ANALYTICS_REL_TYPE_IS_PART_OF) != 0;
  if (has_parent && is_carried(placed_, parent))
    to.parent_id = static_cast<gint>(placed_[parent].od_id);
}

void Carrier::carry_region(const GstVideoRegionOfInterestMeta& region) {
  const auto x = static_cast<float>(region.x), y = static_cast<float>(region.y);
  const Box box = clip(
      map_(Box{x, y, x + static_cast<float>(region.w), y + static_cast<float>(region.h)}), frame_);
  if (is_empty(box)) return;
  const Pixels at = rounded(box, frame_);
  auto* added = gst_buffer_add_video_region_of_interest_meta_id(
      to_, region.roi_type, static_cast<guint>(at.x), static_cast<guint>(at.y),
      static_cast<guint>(at.width), static_cast<guint>(at.height));
  rename(region, *added);
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

}  // namespace keepbox
