// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of a frame: attached as GStreamer's metas, and read from them.
#include "gst/metas/boxes.h"

#include <gst/video/video.h>

#include <set>
#include <string>

#include "core/formula/oriented.h"
#include "gst/metas/keypointgroups.h"
#include "gst/metas/labels.h"
#include "gst/metas/masks.h"
#include "gst/metas/records.h"
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

/// Space that boxes need in a relation meta.
struct MetaSize {
  gsize mtds = 0;        // required ones
  gsize group_mtds = 0;  // of optional keypoint groups
  gsize bytes = 0;       // of records, and of masks beyond the size of other mtds
};

MetaSize meta_size_of(std::span<const FrameBox> boxes, const AttachOptions& options) {
  MetaSize out;
  out.bytes = bytes_of_records(boxes);
  for (const FrameBox& box : boxes) {
    if (is_mask(box.mask.pixels)) out.bytes += kMoreBytesPerMask;
    out.mtds += mtds_of(box, options.classes);
    out.group_mtds += mtds_of_group(box.keypoints);
  }
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
                    ", or half as many with masks or also-attach=class",
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
  add_records(meta, boxes);
  return {};
}

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

void read_tracking(TrackFinder& tracks, FrameBox& box) {
  const auto track = tracks.of(box.od_id);
  if (!track) return;
  box.tracking_id = track->id;
  box.tracked_since = track->first_seen;
}

FrameBox box_of(const RecordedBox& recorded, const Records& records) {
  const auto& [record, model] = recorded;
  const OrientedBox place = record.place();
  return {.box = place.box,
          .score = record.score,
          .angle = place.angle,
          .label = record.label,
          .class_id = record.class_id,
          .anchor = record.anchor,
          .model = model.name,
          .unnamed = model.unnamed,
          .coco = model.coco,
          .held = model.held,
          .predicted = model.predicted,
          .od_id = record.od_id,
          .keypoints = records.keypoints(record.od_id),
          .values = records.values(record.od_id)};
}

/// The search for its parent takes time in proportion to all mtds; records of our decoders show
/// whether there is one.
FrameBox read_od(const GstAnalyticsODMtd& od, const Records& records) {
  const Detected at = detected(od);
  const auto found = records.box(od.id, at);
  if (found && !found->model.parts) return box_of(*found, records);
  const auto left = static_cast<float>(at.x), top = static_cast<float>(at.y);
  FrameBox box = found ? box_of(*found, records)
                       : FrameBox{.box = {left, top, left + static_cast<float>(at.width),
                                          top + static_cast<float>(at.height)},
                                  .score = at.score,
                                  .angle = at.angle,
                                  .label = at.label,
                                  .od_id = od.id};
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

void read_mask(GstAnalyticsRelationMeta* meta, const Records& records, FrameBox& box) {
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
    const auto record = box.class_id ? records.mask(mask.id) : std::nullopt;
    if (record && record->od_id == box.od_id) box.mask.place = record->place();
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
  const Records records(meta);
  TrackFinder tracks(meta);
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
    records.read_labels(box.od_id, box.labels);
    if (classified) read_classes(meta, box);
    if (tracks.any()) read_tracking(tracks, box);
    if (masked) read_mask(meta, records, box);
    if (others != nullptr && box.keypoints.points.empty())
      box.keypoints = read_group(meta, od.id, *others);
    out.push_back(box);
  }
  remove_parts(out, skipped);
  return true;
}

void attach_weak_boxes(GstBuffer* buffer, std::span<FrameBox> boxes) {
  if (boxes.empty()) return;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  // Numbered on from those of other decoders, because payloads are found by number.
  const gsize first = Records(meta).weak_boxes().size();
  for (gsize i = 0; i < boxes.size(); ++i) boxes[i].od_id = weak_id(first + i);
  add_records(meta, boxes);
}

std::vector<FrameBox> read_weak_boxes(GstBuffer* buffer) {
  std::vector<FrameBox> out;
  const Records records(gst_buffer_get_analytics_relation_meta(buffer));
  for (const RecordedBox& weak : records.weak_boxes()) out.push_back(box_of(weak, records));
  return out;
}

}  // namespace keepbox
