// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries mtds that go with their object: tensors, masks, keypoints and their groups.
#include <gst/analytics/analytics.h>

#include "gst/metas/carrier.h"
#include "gst/metas/keypointgroups.h"
#include "gst/metas/masks.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/tensormtd.h"
#include "gst/tensors/tensors.h"
#include "gst/tensors/tensorwalk.h"

namespace keepbox {
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
void Carrier::carry_mask(const GstAnalyticsMtd& mtd, const MaskRecords& records) {
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
  const auto record = records.of_mask(mtd.id);
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
  const MaskRecords masks(source_);
  const auto type_of = [](const GstAnalyticsMtd& mtd) {
    return gst_analytics_mtd_get_mtd_type(&mtd);
  };
  for (const GstAnalyticsMtd& mtd : parts)
    if (is_group(type_of(mtd))) carry_group(mtd);
  for (const GstAnalyticsMtd& mtd : parts) {
    const GstAnalyticsMtdType type = type_of(mtd);
    if (is_group(type) || grouped_.contains(mtd.id) || lost_its_object(mtd)) continue;
    if (is_keypoint(type)) placed_[mtd.id].od_id = carry_keypoint(mtd, target_, map_);
    else if (is_segmentation(type)) carry_mask(mtd, masks);
    else carry_tensor(mtd);
  }
}

}  // namespace keepbox
