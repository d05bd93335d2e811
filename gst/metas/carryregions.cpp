// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries regions of interest, including their data about detections.
#include <gst/video/video.h>

#include <algorithm>

#include "gst/metas/carrier.h"
#include "gst/metas/relationmeta.h"

namespace keepbox {
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
