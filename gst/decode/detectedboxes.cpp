// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies detections with labels, and makes buffers of masks.
#include "gst/decode/detectedboxes.h"

#include <algorithm>
#include <string>

namespace keepbox {

Status DetectedBoxes::take(const Processor& processor, const Labels& labels,
                           const FrameBox& common) {
  clear();
  for (const Detection& det : processor.detections()) {
    FrameBox& box = boxes_.emplace_back(common);
    box.box = det.box;
    box.score = det.score;
    box.angle = det.angle;
    box.label = labels.quark(det.class_id);
    box.class_id = det.class_id;
    box.anchor = det.anchor;
  }
  take_payload(processor);
  KB_TRY(take_masks(processor));
  set_weak_apart(processor.plan());
  return {};
}

void DetectedBoxes::set_weak_apart(const Plan& plan) {
  if (plan.shown_threshold.empty()) return;
  const auto shown = [&](const FrameBox& box) {
    return passes(box.score, plan.shown_threshold[*box.class_id], plan.rules.contract);
  };
  const auto weak = std::ranges::stable_partition(boxes_, shown);
  weak_.assign(weak.begin(), weak.end());
  boxes_.erase(weak.begin(), weak.end());
}

/// Points and values are owned by the processor until its next run.
void DetectedBoxes::take_payload(const Processor& processor) {
  const PayloadPlan& payload = processor.plan().payload;
  const PointSet& set = payload.point_set;
  const GQuark name = set.name.empty() ? 0 : g_quark_from_string(std::string(set.name).c_str());
  for (size_t i = 0; set.count != 0 && i < boxes_.size(); ++i)
    boxes_[i].points = {processor.points().subspan(i * set.count, set.count), set.edges, name};
  if (!payload.has(Moves::kFixed)) return;
  const GQuark kind = g_quark_from_string(std::string(payload.kind.name).c_str());
  for (size_t i = 0; i < boxes_.size(); ++i)
    boxes_[i].values = {processor.payload().subspan(i * payload.count, payload.count), kind};
}

Status DetectedBoxes::take_masks(const Processor& processor) {
  if (processor.masks().empty()) return {};
  const std::span<const Mask> masks = processor.masks();
  masks_ = make_mask_buffers(masks);
  for (size_t i = 0; i < boxes_.size(); ++i) {
    boxes_[i].mask = masks_[i];
    if (masks[i].width != 0 && masks[i].height != 0 && masks_[i].pixels == nullptr)
      return fail(ErrorKind::kNoResource, "enough memory for the masks of a frame", "too little",
                  "set mask-size=prototypes, or lower max-detections");
  }
  if (processor.plan().rules.contract.drop_empty_masks) drop_empty_masks(masks);
  return {};
}

/// Drops boxes whose mask is empty.
void DetectedBoxes::drop_empty_masks(std::span<const Mask> masks) {
  size_t kept = 0;
  for (size_t i = 0; i < masks.size(); ++i) {
    const std::span words(masks[i].bits, size_t{masks[i].stride} * masks[i].height);
    if (std::ranges::any_of(words, [](uint32_t each) { return each != 0; }))
      boxes_[kept++] = boxes_[i];
  }
  boxes_.resize(kept);
}

}  // namespace keepbox
