// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes boxes with their masks and keypoints as GstAnalyticsRelationMeta and regions of interest.
#include "gst/metas/attachboxes.h"

#include <gst/video/video.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "gst/metas/keypointgroups.h"
#include "gst/metas/masks.h"
#include "gst/metas/records/boxrecords.h"
#include "gst/metas/records/maskrecords.h"
#include "gst/metas/records/payloadrecords.h"
#include "gst/metas/relationmeta.h"

namespace keepbox {
namespace {

constexpr gsize kMoreBytesPerMask = 32;

guint add_od(GstAnalyticsRelationMeta* meta, const FrameBox& box, const Pixels& at) {
  GstAnalyticsODMtd od;
  if (box.angle != 0)
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, box.label, at.x, at.y, at.width,
                                                    at.height, box.angle, box.score, &od);
  else
    gst_analytics_relation_meta_add_od_mtd(meta, box.label, at.x, at.y, at.width, at.height,
                                           box.score, &od);
  return od.id;
}

void add_class(GstAnalyticsRelationMeta* meta, const FrameBox& box) {
  GstAnalyticsClsMtd cls;
  gst_analytics_relation_meta_add_one_cls_mtd(meta, box.score, box.label, &cls);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, box.od_id,
                                           cls.id);
}

/// Relates a box to the one that it is a part of, as GStreamer's decoders of objects do.
void add_to_parent(GstAnalyticsRelationMeta* meta, const FrameBox& box) {
  if (!box.parent) return;
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, box.od_id,
                                           *box.parent);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, *box.parent,
                                           box.od_id);
}

/// Adds a region in DL Streamer's form: with the box's id and normalised coordinates.
void add_region(GstBuffer* buffer, const FrameBox& box, const Pixels& at, Size frame) {
  auto* roi = gst_buffer_add_video_region_of_interest_meta_id(
      buffer, box.label, static_cast<guint>(std::max(at.x, 0)),
      static_cast<guint>(std::max(at.y, 0)), static_cast<guint>(at.width),
      static_cast<guint>(at.height));
  roi->id = static_cast<gint>(box.od_id);
  if (box.parent) roi->parent_id = static_cast<gint>(*box.parent);
  const double width = frame.width, height = frame.height;
  GstStructure* detection = gst_structure_new(
      "detection", "label", G_TYPE_STRING, g_quark_to_string(box.label), "confidence",
      G_TYPE_DOUBLE, static_cast<double>(box.score), "x_min", G_TYPE_DOUBLE, box.box.x1 / width,
      "x_max", G_TYPE_DOUBLE, box.box.x2 / width, "y_min", G_TYPE_DOUBLE, box.box.y1 / height,
      "y_max", G_TYPE_DOUBLE, box.box.y2 / height, nullptr);
  if (box.class_id)
    gst_structure_set(detection, "label_id", G_TYPE_INT, static_cast<gint>(*box.class_id), nullptr);
  gst_video_region_of_interest_meta_add_param(roi, detection);
}

/// Adds records of boxes with class and anchor, model by model.
void add_precise(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes) {
  const auto precise = [](const FrameBox& box) { return box.class_id && box.anchor; };
  const auto same_model = [](const FrameBox& a, const FrameBox& b) {
    return model_of(a) == model_of(b);
  };
  for (const auto& of_model : boxes | std::views::chunk_by(same_model)) {
    const auto count = static_cast<gsize>(std::ranges::count_if(of_model, precise));
    RecordWriter records(meta, count, model_of(of_model.front()));
    for (const FrameBox& box : of_model | std::views::filter(precise)) records.add(record_of(box));
  }
}

/// Space that boxes need in a relation meta.
struct MetaSize {
  gsize mtds = 0;        // required ones
  gsize group_mtds = 0;  // of optional keypoint groups
  gsize bytes = 0;       // of records, and of masks beyond the size of other mtds
};

MetaSize meta_size_of(std::span<const FrameBox> boxes, const AttachOptions& options) {
  MetaSize out;
  gsize masks = 0;
  for (const FrameBox& box : boxes) {
    masks += is_mask(box.mask.pixels);
    out.mtds += mtds_of(box, options.classes);
    out.group_mtds += mtds_of_group(box.keypoints);
  }
  out.bytes = bytes_of_records(boxes.size()) + bytes_of_payloads(boxes) + bytes_of_masks(masks) +
              masks * kMoreBytesPerMask;
  return out;
}

gsize length_of(GstBuffer* buffer) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  return meta != nullptr ? gst_analytics_relation_get_length(meta) : 0;
}

Status check_room(gsize there, gsize boxes, gsize mtds) {
  if (mtds == 0 || there + mtds <= kMaxMtds) return {};
  const std::string existing =
      there == 0 ? "" : " in addition to " + std::to_string(there) + " existing mtds";
  return reject(ErrorKind::kInvalid,
                std::to_string(boxes) + " boxes" + existing + " are too many for a frame: it can " +
                    "have " + std::to_string(kMaxMtds) +
                    ", or half as many with masks or class-meta=true",
                "lower max-detections= or raise score-threshold=");
}

/// Adds a mask; floats are written for boxes with class and anchor.
MaskRecord add_mask(GstAnalyticsRelationMeta* meta, const FrameBox& box, size_t index, Size frame) {
  guint regions[] = {0, box.mask.region != 0 ? box.mask.region : mask_region(index)};
  const Pixels at = rounded(box.mask.place, frame);
  GstAnalyticsSegmentationMtd mask;
  gst_analytics_relation_meta_add_segmentation_mtd(
      meta, gst_buffer_ref(box.mask.pixels), GST_SEGMENTATION_TYPE_INSTANCE, std::size(regions),
      regions, at.x, at.y, static_cast<guint>(at.width), static_cast<guint>(at.height), &mask);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, box.od_id,
                                           mask.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, mask.id,
                                           box.od_id);
  const Box& place = box.mask.place;
  return {box.od_id, mask.id, place.x1, place.y1, place.x2, place.y2};
}

void add_all_masks(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes, Size frame) {
  std::vector<MaskRecord> records;
  for (const FrameBox& box : boxes)
    if (is_mask(box.mask.pixels)) records.push_back(add_mask(meta, box, records.size(), frame));
  add_masks(meta, records);
}

}  // namespace

gsize mtds_of(const FrameBox& box, bool classes) {
  return gsize{1} + classes + is_mask(box.mask.pixels);
}

gsize room_on(GstBuffer* buffer) { return kMaxMtds - std::min(length_of(buffer), kMaxMtds); }

Status attach_boxes(GstBuffer* buffer, std::span<FrameBox> boxes, const AttachOptions& options) {
  const gsize there = length_of(buffer);
  MetaSize need = meta_size_of(boxes, options);
  KB_TRY(check_room(there, boxes.size(), need.mtds));
  if (there + need.mtds + need.group_mtds > kMaxMtds) need.group_mtds = 0;
  GstAnalyticsRelationMeta* meta =
      relation_meta_for(buffer, need.mtds + need.group_mtds, need.bytes);
  for (FrameBox& box : boxes) {
    const Pixels at = rounded(box.box, options.frame);
    box.od_id = add_od(meta, box, at);
    add_to_parent(meta, box);
    if (options.classes) add_class(meta, box);
    if (options.regions) add_region(buffer, box, at, options.frame);
  }
  add_all_masks(meta, boxes, options.frame);
  if (need.group_mtds != 0)
    for (const FrameBox& box : boxes)
      if (mtds_of_group(box.keypoints) != 0) add_group(meta, box.od_id, box.keypoints);
  add_precise(meta, boxes);
  add_payloads(meta, boxes);
  return {};
}

}  // namespace keepbox
