// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the points of the trails of objects.
#include "gst/overlay/trails.h"

#include <cmath>

namespace keepbox {

void Trails::forget(GstClockTime time, GstClockTime length) {
  for (auto& [object, trail] : trails_) {
    while (!trail.empty() && trail.back().time > time) trail.pop_back();
    while (!trail.empty() && trail.front().time + length < time) trail.pop_front();
  }
  std::erase_if(trails_, [](const auto& each) { return each.second.empty(); });
}

void Trails::add(std::span<const FrameBox> boxes, GstClockTime time, GstClockTime length) {
  if (!GST_CLOCK_TIME_IS_VALID(time)) return;
  forget(time, length);
  for (const FrameBox& box : boxes) {
    const auto object = key_of(box);
    if (!object) continue;
    const TrailPoint at{(box.box.x1 + box.box.x2) / 2, (box.box.y1 + box.box.y2) / 2};
    if (!std::isfinite(at.x) || !std::isfinite(at.y)) continue;
    if (trails_.size() >= kMaxTrails && !trails_.contains(*object)) continue;
    auto& trail = trails_[*object];
    if (!trail.empty() && trail.back().time == time) trail.pop_back();
    trail.push_back({time, at});
    if (trail.size() > kMaxPoints) trail.pop_front();
  }
}

std::vector<TrailPoint> Trails::of(const FrameBox& box) const {
  std::vector<TrailPoint> out;
  const auto object = key_of(box);
  if (!object) return out;
  const auto found = trails_.find(*object);
  if (found == trails_.end()) return out;
  for (const Entry& entry : found->second) out.push_back(entry.at);
  return out;
}

}  // namespace keepbox
