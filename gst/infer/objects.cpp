// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects of a frame whose cut-outs a model is run on.
#include "gst/infer/objects.h"

#include <gst/video/video.h>

#include <algorithm>

#include "core/formula/letterbox.h"
#include "core/formula/oriented.h"

namespace keepbox {

/// Attaches a box (GstAnalyticsODMtd) for each GstVideoRegionOfInterestMeta that has none yet: none
/// with the region's id and label, and none with its position and size. The label is the region's
/// type, and the score the confidence of DL Streamer's `detection`, or 1. Regions without area are
/// left out. @param frame its size.
Status add_region_boxes(GstBuffer* buffer, Size frame);

namespace {

constexpr uint64_t kForgottenAfter = 1000;  // frames without the object

std::string_view text_of(GQuark quark) {
  const gchar* text = g_quark_to_string(quark);
  return text != nullptr ? text : "";
}

float area_of(const FrameBox& box) { return (box.box.x2 - box.box.x1) * (box.box.y2 - box.box.y1); }

}  // namespace

bool Objects::fits(const FrameBox& box) const {
  const float side = std::min(box.box.x2 - box.box.x1, box.box.y2 - box.box.y1);
  if (rules_.regions && box.class_id) return false;  // of boxdecode
  return side >= rules_.min_size && (rules_.model.empty() || text_of(box.model) == rules_.model) &&
         (rules_.classes.empty() || std::ranges::contains(rules_.classes, text_of(box.label))) &&
         !std::ranges::contains(rules_.dropped_classes, text_of(box.label));
}

bool Objects::is_due(const FrameBox& box) {
  const auto object = key_of(box);
  if (!object) return true;
  const auto last = runs_.find(*object);
  if (last == runs_.end()) return true;
  last->second.seen = frame_;
  const auto& [frame, seen, area] = last->second;
  return (rules_.again_every != 0 && frame_ - frame >= rules_.again_every) ||
         (rules_.again_growth > 0 && area_of(box) > rules_.again_growth * area);
}

/// True if the model is to run on the box.
bool Objects::take(const FrameBox& box) {
  if (!fits(box)) return false;
  if (is_due(box)) return true;
  left_out_.push_back(box.od_id);
  return false;
}

std::optional<Crop> Objects::crop(const FrameBox& box, const CropPlan& plan,
                                  ResizeMode mode) const {
  if (rules_.align) return aligned_crop(plan, box.keypoints.points, *rules_.align);
  return crop_of(plan, enlarged({box.box, box.angle}, rules_.grow), mode);
}

void Objects::note(const FrameBox& box) {
  if (const auto object = key_of(box)) runs_[*object] = {frame_, frame_, area_of(box)};
}

/// Drops objects that have not been seen for long, now and then.
void Objects::prune() {
  if (frame_ % kForgottenAfter != 0) return;
  std::erase_if(runs_, [&](const auto& run) { return frame_ - run.second.seen > kForgottenAfter; });
}

Result<std::vector<ObjectCrop>> Objects::of(GstBuffer* frame, const CropPlan& plan,
                                            ResizeMode mode) {
  if (rules_.regions) KB_TRY(add_region_boxes(frame, plan.frame.size));
  ++frame_;
  prune();
  std::vector<FrameBox> boxes;
  KeypointStore points;
  const bool analysed = read_boxes(frame, boxes, &points, plan.frame.size);
  without_boxes_ = analysed || rules_.regions ? 0 : without_boxes_ + 1;
  left_out_.clear();
  std::erase_if(boxes, [&](const FrameBox& box) { return !take(box); });
  std::ranges::stable_sort(boxes, std::ranges::greater{}, &FrameBox::score);
  std::vector<ObjectCrop> out;
  for (const FrameBox& box : boxes) {
    if (out.size() == kMaxObjects) break;
    const auto made = crop(box, plan, mode);
    if (!made) continue;
    out.push_back({box.od_id, *made});
    note(box);
  }
  std::ranges::sort(out, {}, &ObjectCrop::od_id);
  return out;
}

Status Objects::leave_out(GstBuffer* frame, Size size) {
  if (rules_.regions) KB_TRY(add_region_boxes(frame, size));
  left_out_.clear();
  std::vector<FrameBox> boxes;
  read_boxes(frame, boxes, nullptr, size);
  for (const FrameBox& box : boxes)
    if (fits(box)) left_out_.push_back(box.od_id);
  return {};
}

std::vector<PictureRecord> pictures_of(const std::vector<ObjectCrop>& crops, Size input) {
  const auto width = static_cast<float>(input.width), height = static_cast<float>(input.height);
  std::vector<PictureRecord> out;
  for (const ObjectCrop& each : crops) {
    const CropMap& map = each.crop.map;
    out.push_back(
        {each.od_id, static_cast<guint>(out.size()), map(0, 0), map(width, 0), map(0, height)});
  }
  return out;
}

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
