// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads boxes with their masks and keypoints from GstAnalyticsRelationMeta.
#include "gst/metas/readboxes.h"

#include <set>

#include "gst/metas/keypointgroups.h"
#include "gst/metas/masks.h"
#include "gst/metas/records/boxrecords.h"
#include "gst/metas/records/labelrecords.h"
#include "gst/metas/records/maskrecords.h"
#include "gst/metas/records/payloadrecords.h"
#include "gst/metas/relationmeta.h"
#include "gst/metas/trackofbox.h"

namespace keepbox {
namespace {

/// Adds the first class of each classification of the box that is not there yet. Some decoders
/// leave the box itself unlabelled; others repeat its label.
void read_classes(GstAnalyticsRelationMeta* meta, FrameBox& box) {
  GstAnalyticsMtd found;
  gpointer state = nullptr;
  while (gst_analytics_relation_meta_get_direct_related(meta, box.od_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                        gst_analytics_cls_mtd_get_mtd_type(),
                                                        &state, &found)) {
    const auto* cls = reinterpret_cast<GstAnalyticsClsMtd*>(&found);
    if (gst_analytics_cls_mtd_get_length(cls) == 0) continue;
    const GQuark name = gst_analytics_cls_mtd_get_quark(cls, 0);
    if (box.label == 0) box.label = name;
    if (name != box.label) box.labels.add_class(name, gst_analytics_cls_mtd_get_level(cls, 0));
  }
}

void read_tracking(GstAnalyticsRelationMeta* meta, FrameBox& box) {
  const auto track = track_of(meta, box.od_id);
  if (!track) return;
  box.tracking_id = track->id;
  box.tracked_since = track->first_seen;
}

/// Our own mtds about the boxes of a frame.
struct Records {
  BoxRecords boxes;
  PayloadRecords payloads;
  MaskRecords masks;
  LabelRecords labels;
};

/// The search for its parent takes time in proportion to all mtds; records of our decoders show
/// whether there is one.
FrameBox read_od(const GstAnalyticsODMtd& od, const Records& records) {
  const Detected at = detected(od);
  const auto left = static_cast<float>(at.x), top = static_cast<float>(at.y);
  FrameBox box{
      .box = {left, top, left + static_cast<float>(at.width), top + static_cast<float>(at.height)},
      .score = at.score,
      .angle = at.angle,
      .label = at.label,
      .od_id = od.id};
  if (const auto found = records.boxes.find(od.id, at)) {
    const BoxRecord& record = found->record;
    box.box = {record.x1, record.y1, record.x2, record.y2};
    box.angle = record.angle;
    box.class_id = record.class_id;
    box.anchor = record.anchor;
    box.model = found->model.name;
    box.unnamed = found->model.unnamed;
    box.coco = found->model.coco;
    box.held = found->model.held;
    box.predicted = found->model.predicted;
    box.keypoints = records.payloads.keypoints(od.id);
    box.values = records.payloads.values(od.id);
    if (!found->model.parts) return box;
  }
  box.parent = parent_of(od.meta, od.id);
  return box;
}

/// True if the mask has a single object: with several it is unclear which is the box's. Some
/// elements also write the region around objects.
bool is_of_one(const GstAnalyticsSegmentationMtd& mask) {
  gsize objects = 0;
  for (gsize i = 0; i < gst_analytics_segmentation_mtd_get_region_count(&mask); ++i)
    objects += gst_analytics_segmentation_mtd_get_region_id(&mask, i) != 0;
  return objects <= 1;
}

void read_mask(GstAnalyticsRelationMeta* meta, const MaskRecords& records, FrameBox& box) {
  GstAnalyticsMtd mask;
  gpointer state = nullptr;
  if (!gst_analytics_relation_meta_get_direct_related(meta, box.od_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                      gst_analytics_segmentation_mtd_get_mtd_type(),
                                                      &state, &mask))
    return;
  const auto& as_mask = reinterpret_cast<GstAnalyticsSegmentationMtd&>(mask);
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  GstBuffer* pixels = gst_analytics_segmentation_mtd_get_mask(&as_mask, &x, &y, &width, &height);
  if (is_mask(pixels) && width != 0 && height != 0 && is_of_one(as_mask)) {
    const auto left = static_cast<float>(x), top = static_cast<float>(y);
    box.mask = {pixels,
                {left, top, left + static_cast<float>(width), top + static_cast<float>(height)}};
    // Without a class the record does not agree, so none of our data applies.
    if (box.class_id) box.mask.place = records.find(box.od_id, mask.id).value_or(box.mask.place);
  }
  if (pixels != nullptr) gst_buffer_unref(pixels);  // the meta holds a reference
}

bool has_any(GstAnalyticsRelationMeta* meta, GstAnalyticsMtdType type) {
  GstAnalyticsMtd mtd;
  gpointer state = nullptr;
  return gst_analytics_relation_meta_iterate(meta, &state, type, &mtd);
}

Size size_of_frame(GstBuffer* frame) {
  const GstVideoMeta* meta = gst_buffer_get_video_meta(frame);
  return meta != nullptr ? Size{meta->width, meta->height} : Size{};
}

/// @param side 0 if unknown.
bool is_outside_axis(float low, float high, uint32_t side) {
  return high <= 0 ? low < 0 : side != 0 && low >= static_cast<float>(side);
}

/// Removes the parts of skipped boxes that precede these, and parts of parts.
void remove_parts(std::vector<FrameBox>& boxes, std::set<guint>& skipped) {
  const auto is_skipped = [&](const FrameBox& box) {
    return box.parent && skipped.contains(*box.parent);
  };
  for (bool more = !skipped.empty(); more;) {
    for (const FrameBox& box : boxes)
      if (is_skipped(box)) skipped.insert(box.od_id);
    more = std::erase_if(boxes, is_skipped) != 0;
  }
}

/// True if the box is completely outside of the frame. @param frame sides are 0 if unknown.
bool is_outside(const FrameBox& box, Size frame) {
  const Box b = around({box.box, box.angle});
  return is_outside_axis(b.x1, b.x2, frame.width) || is_outside_axis(b.y1, b.y2, frame.height);
}

}  // namespace

bool read_boxes(GstBuffer* buffer, std::vector<FrameBox>& out, KeypointStore* others, Size frame) {
  out.clear();
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return false;
  if (others != nullptr) *others = {};
  const Records records{BoxRecords(meta), PayloadRecords(meta), MaskRecords(meta),
                        LabelRecords(meta)};
  const bool tracked = has_any(meta, gst_analytics_tracking_mtd_get_mtd_type());
  const bool classified = has_any(meta, gst_analytics_cls_mtd_get_mtd_type());
  const bool masked = has_any(meta, gst_analytics_segmentation_mtd_get_mtd_type());
  if (frame.width == 0) frame = size_of_frame(buffer);
  std::set<guint> skipped;  // boxes, with their parts
  gpointer state = nullptr;
  GstAnalyticsODMtd od;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             reinterpret_cast<GstAnalyticsMtd*>(&od))) {
    FrameBox box = read_od(od, records);
    if (is_outside(box, frame) || (box.parent && skipped.contains(*box.parent))) {
      skipped.insert(box.od_id);
      continue;
    }
    records.labels.find(box.od_id, box.labels);
    if (classified) read_classes(meta, box);
    if (tracked) read_tracking(meta, box);
    if (masked) read_mask(meta, records.masks, box);
    if (others != nullptr && box.keypoints.points.empty())
      box.keypoints = read_group(meta, od.id, *others);
    out.push_back(box);
  }
  remove_parts(out, skipped);
  return true;
}

}  // namespace keepbox
