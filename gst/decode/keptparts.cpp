// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies parts, and moves them with their objects.
#include "gst/decode/keptparts.h"

#include "core/formula/oriented.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {
namespace {

constexpr uint64_t kForgottenAfter = 1000;  // frames without the object

/// Returns the map of an object's pixels to a later frame. Objects that are rotated keep their
/// size, because the sides of their boxes are no axes of the frame.
PixelMap motion(const FrameBox& from, const FrameBox& to) {
  const Box &a = from.box, &b = to.box;
  const double width = double{a.x2} - a.x1, height = double{a.y2} - a.y1;
  const bool scales = from.angle == 0 && to.angle == 0 && width > 0 && height > 0;
  const double x = scales ? (double{b.x2} - b.x1) / width : 1;
  const double y = scales ? (double{b.y2} - b.y1) / height : 1;
  return PixelMap::scale(x, y, (double{b.x1} + b.x2 - x * (double{a.x1} + a.x2)) / 2,
                         (double{b.y1} + b.y2 - y * (double{a.y1} + a.y2)) / 2);
}

void move(FrameBox& box, std::span<Keypoint> points, const PixelMap& map, Size frame) {
  if (box.angle == 0) {
    box.box = clip(map(box.box), frame);
  } else {
    const OrientedBox to = map(OrientedBox{box.box, box.angle});
    box.box = to.box, box.angle = to.angle;
  }
  for (Keypoint& point : points) {
    const auto to = map.point(point.x, point.y);
    point.x = static_cast<float>(to.x), point.y = static_cast<float>(to.y);
  }
  box.mask.place = map(box.mask.place);
}

}  // namespace

KeptParts::Part::Part(const FrameBox& from)
    : box(from),
      points(from.keypoints.points.begin(), from.keypoints.points.end()),
      values(from.values.values.begin(), from.values.values.end()),
      mask(from.mask.pixels != nullptr ? gst_buffer_ref(from.mask.pixels) : nullptr) {
  box.keypoints.points = points;
  box.values.values = values;
}

void KeptParts::begin() {
  shown_.clear();
  ++frame_;
  prune();
}

/// Drops objects that have not been seen for long, now and then.
void KeptParts::prune() {
  if (frame_ % kForgottenAfter != 0) return;
  std::erase_if(objects_,
                [&](const auto& each) { return frame_ - each.second.seen > kForgottenAfter; });
}

void KeptParts::remember(const FrameBox& object, std::span<const FrameBox> parts) {
  const auto key = key_of(object);
  if (!key) return;
  Object& kept = objects_[*key];
  kept.box = object;
  kept.box.keypoints = {}, kept.box.mask = {}, kept.box.values = {}, kept.box.labels = {};
  kept.seen = frame_;
  kept.parts.clear();
  for (const FrameBox& part : parts)
    if (part.parent == object.od_id) kept.parts.emplace_back(part);
}

std::optional<std::vector<FrameBox>> KeptParts::of(const FrameBox& object, Size frame) {
  const auto key = key_of(object);
  const auto found = key ? objects_.find(*key) : objects_.end();
  if (found == objects_.end()) return std::nullopt;
  found->second.seen = frame_;
  const PixelMap map = motion(found->second.box, object);
  std::vector<FrameBox> out;
  for (const Part& part : found->second.parts) {
    Part& shown = shown_.emplace_back(part);
    shown.box.held = true;
    shown.box.parent = object.od_id;
    move(shown.box, shown.points, map, frame);
    if (!is_empty(clip(around({shown.box.box, shown.box.angle}), frame))) out.push_back(shown.box);
  }
  return out;
}

}  // namespace keepbox
