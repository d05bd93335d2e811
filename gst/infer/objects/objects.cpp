// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses objects by the rules, and computes their crops.
#include "gst/infer/objects/objects.h"

#include <algorithm>
#include <utility>

#include "gst/infer/objects/regionboxes.h"
#include "gst/metas/readboxes.h"

namespace keepbox {
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
         (rules_.classes.empty() || std::ranges::contains(rules_.classes, text_of(box.label)));
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
    if (out.size() == rules_.max_objects) break;
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

}  // namespace keepbox
