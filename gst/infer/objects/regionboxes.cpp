// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds regions without boxes.
#include "gst/infer/objects/regionboxes.h"

#include <gst/video/video.h>

#include <algorithm>
#include <vector>

#include "core/formula/oriented.h"
#include "gst/metas/attachboxes.h"
#include "gst/metas/records/boxrecords.h"

namespace keepbox {
namespace {

using Interest = GstVideoRegionOfInterestMeta;

struct Known {
  guint od_id;
  Detected at;
};

std::vector<Known> boxes_of(GstBuffer* buffer) {
  std::vector<Known> out;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return out;
  gpointer state = nullptr;
  GstAnalyticsODMtd od;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             reinterpret_cast<GstAnalyticsMtd*>(&od)))
    out.push_back({od.id, detected(od)});
  return out;
}

bool overlap(const Interest& region, const Detected& at) {
  const auto x = static_cast<float>(at.x), y = static_cast<float>(at.y);
  const Box box = around(
      {{x, y, x + static_cast<float>(at.width), y + static_cast<float>(at.height)}, at.angle});
  const auto left = static_cast<float>(region.x), top = static_cast<float>(region.y);
  return box.x1 < left + static_cast<float>(region.w) && left < box.x2 &&
         box.y1 < top + static_cast<float>(region.h) && top < box.y2;
}

/// True if a region is of a box. Many producers leave all ids of regions at 0.
bool is_of(const Interest& region, const Known& box) {
  const auto same = [](guint a, gint b) { return gint64{a} == b; };
  const bool placed = same(region.x, box.at.x) && same(region.y, box.at.y) &&
                      same(region.w, box.at.width) && same(region.h, box.at.height);
  return placed || (region.id >= 0 && static_cast<guint>(region.id) == box.od_id &&
                    region.roi_type == box.at.label && (region.id > 0 || overlap(region, box.at)));
}

float score_of(const Interest& region) {
  double score = 1;
  for (GList* each = region.params; each != nullptr; each = each->next) {
    const auto* param = static_cast<GstStructure*>(each->data);
    if (gst_structure_has_name(param, "detection"))
      gst_structure_get_double(param, "confidence", &score);
  }
  return static_cast<float>(score);
}

}  // namespace

Status add_region_boxes(GstBuffer* buffer, Size frame) {
  const std::vector<Known> known = boxes_of(buffer);
  std::vector<FrameBox> boxes;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto& region = *reinterpret_cast<Interest*>(meta);
    const auto has = [&](const Known& box) { return is_of(region, box); };
    if (region.w == 0 || region.h == 0 || std::ranges::any_of(known, has)) continue;
    const auto x = static_cast<float>(region.x), y = static_cast<float>(region.y);
    boxes.push_back(
        {.box = {x, y, x + static_cast<float>(region.w), y + static_cast<float>(region.h)},
         .score = score_of(region),
         .label = region.roi_type});
  }
  return boxes.empty() ? Status{} : attach_boxes(buffer, boxes, {.frame = frame});
}

}  // namespace keepbox
