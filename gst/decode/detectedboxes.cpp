// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies detections with labels, maps those of objects' images, and makes buffers of masks.
#include "gst/decode/detectedboxes.h"

#include <algorithm>
#include <functional>
#include <string>

#include "core/formula/filter.h"
#include "gst/metas/attachboxes.h"

namespace keepbox {
namespace {

bool is_nonempty(const Mask& mask) { return mask.width != 0 && mask.height != 0; }

/// True if the mask has no pixel of its object.
bool is_blank(const Mask& mask) {
  const std::span words(mask.bits, size_t{mask.stride} * mask.height);
  return std::ranges::none_of(words, [](uint32_t each) { return each != 0; });
}

}  // namespace

void DetectedBoxes::clear() {
  boxes_.clear(), weak_.clear(), masks_.clear();
  mask_count_ = 0;
  keypoints_.clear(), values_.clear(), turned_.clear();
}

Status DetectedBoxes::add(const Processor& processor, uint32_t number, const Labels& labels,
                          const FrameBox& common, Funnel& dropped) {
  std::vector<Found> found = found_by(processor, number, labels, common, dropped);
  return take(found, processor.plan());
}

Status DetectedBoxes::add_parts(const Processor& processor, const Labels& labels,
                                const FrameBox& common, const ObjectImage& of, Size frame,
                                Funnel& dropped) {
  std::vector<Found> found = found_by(processor, 0, labels, common, dropped);
  for (Found& each : found) {
    each.box.parent = of.od_id;
    copy_payload(each.box, of);
  }
  place(found, processor.plan(), of, frame, dropped);
  return take(found, processor.plan());
}

bool DetectedBoxes::keep_best(gsize room, bool classes) {
  gsize need = 0;
  for (const FrameBox& box : boxes_) need += mtds_of(box, classes);
  if (need <= room) return false;
  std::ranges::stable_sort(boxes_, std::greater{}, &FrameBox::score);
  for (; need > room; boxes_.pop_back()) need -= mtds_of(boxes_.back(), classes);
  return true;
}

std::vector<DetectedBoxes::Found> DetectedBoxes::found_by(const Processor& processor,
                                                          uint32_t number, const Labels& labels,
                                                          const FrameBox& common, Funnel& dropped) {
  const PayloadPlan& payload = processor.plan().payload;
  const PointSet& set = payload.point_set;
  const GQuark name = set.name.empty() ? 0 : g_quark_from_string(std::string(set.name).c_str());
  const bool fixed = payload.has(Moves::kFixed);
  const GQuark kind = fixed ? g_quark_from_string(std::string(payload.kind.name).c_str()) : 0;
  const std::span<const Mask> masks = processor.masks(number);
  std::vector<Found> out;
  for (const Detection& det : processor.detections(number)) {
    const size_t i = out.size();
    auto& [box, mask] = out.emplace_back(common);
    box.box = det.box;
    box.score = det.score;
    box.angle = det.angle;
    box.label = labels.quark(det.class_id);
    box.class_id = det.class_id;
    box.anchor = det.anchor;
    if (set.count != 0)
      box.keypoints = {processor.keypoints(number).subspan(i * set.count, set.count), set.edges,
                       name};
    if (fixed)
      box.values = {processor.payload(number).subspan(i * payload.count, payload.count), kind};
    if (!masks.empty()) mask = masks[i];
  }
  if (!masks.empty() && processor.plan().rules.contract.drop_empty_masks)
    dropped.empty_masks += static_cast<uint32_t>(
        std::erase_if(out, [](const Found& each) { return is_blank(each.mask); }));
  return out;
}

void DetectedBoxes::copy_payload(FrameBox& box, const ObjectImage& of) {
  const auto& points =
      keypoints_.emplace_back(box.keypoints.points.begin(), box.keypoints.points.end());
  const auto& values = values_.emplace_back(box.values.values.begin(), box.values.values.end());
  box.keypoints.points = points, box.values.values = values;
  if (!of.turn) return;
  for (Keypoint& point : keypoints_.back()) {
    const auto to = of.turn->point(point.x, point.y);
    point.x = static_cast<float>(to.x), point.y = static_cast<float>(to.y);
  }
}

/// Maps the boxes of a rotated image to the frame, and applies the filters of the frame.
void DetectedBoxes::place(std::vector<Found>& found, const Plan& plan, const ObjectImage& of,
                          Size frame, Funnel& dropped) {
  dropped.clipped_away += static_cast<uint32_t>(std::erase_if(
      found, [&](Found& each) { return of.turn && !turn_box(each.box, *of.turn, frame); }));
  dropped.filtered_out += static_cast<uint32_t>(std::erase_if(found, [&](const Found& each) {
    return !plan.part_regions.empty() &&
           !passes_regions(around({each.box.box, each.box.angle}), frame, plan.part_rules,
                           plan.part_regions.data());
  }));
  if (!of.turn) return;
  for (Found& each : found)
    each.mask = turned_mask(each.mask, *of.turn, frame, turned_.emplace_back());
}

/// Appends the boxes, those for trackers apart, and makes the buffers of their masks.
Status DetectedBoxes::take(std::vector<Found>& found, const Plan& plan) {
  std::vector<Mask> masks;
  const size_t first = boxes_.size();
  for (const auto& [box, mask] : found) {
    const bool shown = plan.output_threshold.empty() ||
                       passes(box.score, plan.output_threshold[*box.class_id], plan.rules.contract);
    if (!shown) {
      weak_.push_back(box);
      continue;
    }
    boxes_.push_back(box);
    masks.push_back(mask);
  }
  if (std::ranges::none_of(masks, is_nonempty)) return {};
  const MaskBuffers& made = masks_.emplace_back(make_mask_buffers(masks, mask_count_));
  mask_count_ += static_cast<size_t>(std::ranges::count_if(masks, is_nonempty));
  turned_.clear();
  for (size_t i = 0; i < masks.size(); ++i) {
    boxes_[first + i].mask = made[i];
    if (is_nonempty(masks[i]) && made[i].pixels == nullptr)
      return reject(ErrorKind::kNoResource, "Not enough memory for the masks of a frame",
                    "set mask-size=prototypes, or lower max-detections=");
  }
  return {};
}

}  // namespace keepbox
