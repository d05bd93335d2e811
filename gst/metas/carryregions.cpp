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

/// Returns a region's id: regions of a detection have its id and follow it to its new id. Others
/// keep their own.
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
  const Box box = clip(
      map_(Box{x, y, x + static_cast<float>(region.w), y + static_cast<float>(region.h)}), frame_);
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

}  // namespace keepbox
