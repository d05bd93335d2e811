// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and reads GstAnalyticsRelationMeta, float boxes and regions of interest.
#include "gst/metas/analytics.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <string>

#include "gst/metas/boxrecords.h"

namespace keepbox {
namespace {

constexpr gsize kBytesPerMtd = 96;  // a little more than one takes
constexpr gsize kSlack = 16;        // mtds that others may add before the meta grows

/// One axis: edges rounded, a pixel apart at least, inside the frame where its size is known.
void round_axis(float low, float high, uint32_t limit, gint& at, gint& extent) {
  constexpr float kFar = 1 << 24;  // every whole number up to here is a float
  // A comparison that is no number's leaves -kFar, as std::clamp() would not.
  const auto whole = [&](float v) {
    return static_cast<gint>(v > -kFar ? std::min(v, kFar) : -kFar);
  };
  const auto edge = [&](float v) { return whole(std::floor(v + 0.5f)); };
  at = edge(low);
  extent = edge(high) - at;
  if (extent > 0) return;
  at = whole(std::floor(low));
  if (limit != 0) at = std::min(at, static_cast<gint>(limit) - 1);
  extent = 1;
}

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

/// A region as DL Streamer reads it: the id of the box, and normalised coordinates.
void add_region(GstBuffer* buffer, const FrameBox& box, const Pixels& at, Size frame) {
  auto* roi = gst_buffer_add_video_region_of_interest_meta_id(
      buffer, box.label, static_cast<guint>(std::max(at.x, 0)),
      static_cast<guint>(std::max(at.y, 0)), static_cast<guint>(at.width),
      static_cast<guint>(at.height));
  roi->id = static_cast<gint>(box.od_id);
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

void read_class(GstAnalyticsRelationMeta* meta, FrameBox& box) {
  GstAnalyticsMtd cls;
  gpointer state = nullptr;
  if (!gst_analytics_relation_meta_get_direct_related(
          meta, box.od_id, GST_ANALYTICS_REL_TYPE_ANY, gst_analytics_cls_mtd_get_mtd_type(),
          &state, &cls))
    return;
  const auto* as_class = reinterpret_cast<GstAnalyticsClsMtd*>(&cls);
  if (gst_analytics_cls_mtd_get_length(as_class) == 0) return;
  box.classified = gst_analytics_cls_mtd_get_quark(as_class, 0);
  box.class_level = gst_analytics_cls_mtd_get_level(as_class, 0);
  if (box.label == 0) box.label = box.classified;  // decoders that leave the box itself unnamed
}

void read_tracking(GstAnalyticsRelationMeta* meta, FrameBox& box) {
  GstAnalyticsMtd found;
  gpointer state = nullptr;
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
  gboolean lost = FALSE;
  if (!gst_analytics_relation_meta_get_direct_related(
          meta, box.od_id, GST_ANALYTICS_REL_TYPE_ANY, gst_analytics_tracking_mtd_get_mtd_type(),
          &state, &found) ||
      !gst_analytics_tracking_mtd_get_info(reinterpret_cast<GstAnalyticsTrackingMtd*>(&found), &id,
                                           &first, &last, &lost))
    return;
  box.tracking_id = id;
  box.tracked_since = first;
}

FrameBox read_od(const GstAnalyticsODMtd& od, const BoxRecords& records) {
  const Detected at = detected(od);
  const auto left = static_cast<float>(at.x), top = static_cast<float>(at.y);
  FrameBox box{.box = {left, top, left + static_cast<float>(at.width),
                       top + static_cast<float>(at.height)},
               .score = at.score,
               .angle = at.angle,
               .label = at.label,
               .od_id = od.id};
  if (const auto found = records.find(od.id, at)) {
    const BoxRecord& record = found->record;
    box.box = {record.x1, record.y1, record.x2, record.y2};
    box.angle = record.angle;
    box.class_id = record.class_id;
    box.anchor = record.anchor;
    box.model = found->model.name;
    box.unnamed = found->model.unnamed;
  }
  return box;
}

bool has_any(GstAnalyticsRelationMeta* meta, GstAnalyticsMtdType type) {
  GstAnalyticsMtd mtd;
  gpointer state = nullptr;
  return gst_analytics_relation_meta_iterate(meta, &state, type, &mtd);
}

/// Of boxes with class and anchor: those of one model after the other.
void add_precise(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes) {
  const auto precise = [](const FrameBox& box) { return box.class_id && box.anchor; };
  const auto same_model = [](const FrameBox& a, const FrameBox& b) { return a.model == b.model; };
  for (const auto& of_model : boxes | std::views::chunk_by(same_model)) {
    const auto count = static_cast<gsize>(std::ranges::count_if(of_model, precise));
    RecordWriter records(meta, count, {of_model.front().model, of_model.front().unnamed});
    for (const FrameBox& box : of_model | std::views::filter(precise))
      records.add({box.od_id, *box.class_id, *box.anchor, box.label, box.score, box.box.x1,
                   box.box.y1, box.box.x2, box.box.y2, box.angle});
  }
}

Status check_room(GstBuffer* buffer, gsize boxes, gsize mtds) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  const gsize there = meta != nullptr ? gst_analytics_relation_get_length(meta) : 0;
  if (mtds == 0 || there + mtds <= kMostMtds) return {};
  const std::string beside =
      there == 0 ? "" : " beside " + std::to_string(there) + " mtds of others";
  return fail(ErrorKind::kInvalid,
              "at most " + std::to_string(kMostMtds) +
                  " boxes on a frame, or half as many with class-meta=true: GStreamer keeps a byte "
                  "for each pair of them",
              std::to_string(boxes) + " boxes" + beside,
              "set max-detections= lower or score-threshold= higher");
}

}  // namespace

GstAnalyticsRelationMeta* relation_meta_for(GstBuffer* buffer, gsize mtds, gsize records) {
  if (auto* meta = gst_buffer_get_analytics_relation_meta(buffer)) return meta;
  GstAnalyticsRelationMetaInitParams params{};
  params.initial_relation_order = mtds + kSlack;
  params.initial_buf_size = (mtds + kSlack) * kBytesPerMtd + bytes_of_records(records);
  return gst_buffer_add_analytics_relation_meta_full(buffer, &params);
}

Pixels rounded(const Box& b, Size frame) {
  Pixels out{};
  round_axis(b.x1, b.x2, frame.width, out.x, out.width);
  round_axis(b.y1, b.y2, frame.height, out.y, out.height);
  return out;
}

Status attach_boxes(GstBuffer* buffer, std::span<FrameBox> boxes, const AttachOptions& options) {
  const gsize mtds = boxes.size() * (options.classes ? 2 : 1);
  KB_TRY(check_room(buffer, boxes.size(), mtds));
  GstAnalyticsRelationMeta* meta = relation_meta_for(buffer, mtds, boxes.size());
  for (FrameBox& box : boxes) {
    const Pixels at = rounded(box.box, options.frame);
    box.od_id = add_od(meta, box, at);
    if (options.classes) add_class(meta, box);
    if (options.regions) add_region(buffer, box, at, options.frame);
  }
  add_precise(meta, boxes);
  return {};
}

bool read_boxes(GstBuffer* buffer, std::vector<FrameBox>& out) {
  out.clear();
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return false;
  const BoxRecords records(meta);
  const bool tracked = has_any(meta, gst_analytics_tracking_mtd_get_mtd_type());
  const bool classified = has_any(meta, gst_analytics_cls_mtd_get_mtd_type());
  gpointer state = nullptr;
  GstAnalyticsODMtd od;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             reinterpret_cast<GstAnalyticsMtd*>(&od))) {
    FrameBox box = read_od(od, records);
    if (classified) read_class(meta, box);
    if (tracked) read_tracking(meta, box);
    out.push_back(box);
  }
  return true;
}

bool is_analytics(GType api) {
  return api == gst_analytics_relation_meta_api_get_type() ||
         api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE;
}

}  // namespace keepbox
