// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the points of trails by tracking id.
#include "gst/overlay/trails.h"

#include <cmath>

namespace keepbox {

void Trails::forget(GstClockTime time, GstClockTime length) {
  for (auto& [id, trail] : trails_) {
    while (!trail.empty() && trail.back().time > time) trail.pop_back();
    while (!trail.empty() && trail.front().time + length < time) trail.pop_front();
  }
  std::erase_if(trails_, [](const auto& each) { return each.second.empty(); });
}

void Trails::add(std::span<const FrameBox> boxes, GstClockTime time, GstClockTime length) {
  if (!GST_CLOCK_TIME_IS_VALID(time)) return;
  forget(time, length);
  for (const FrameBox& box : boxes) {
    if (!box.tracking_id) continue;
    const TrailPoint at{(box.box.x1 + box.box.x2) / 2, (box.box.y1 + box.box.y2) / 2};
    if (!std::isfinite(at.x) || !std::isfinite(at.y)) continue;
    if (trails_.size() >= kMaxTrails && !trails_.contains(*box.tracking_id)) continue;
    auto& trail = trails_[*box.tracking_id];
    if (!trail.empty() && trail.back().time == time) trail.pop_back();
    trail.push_back({time, at});
    if (trail.size() > kMaxPoints) trail.pop_front();
  }
}

std::vector<TrailPoint> Trails::of(const FrameBox& box) const {
  std::vector<TrailPoint> out;
  if (!box.tracking_id) return out;
  const auto found = trails_.find(*box.tracking_id);
  if (found == trails_.end()) return out;
  for (const Entry& entry : found->second) out.push_back(entry.at);
  return out;
}

}  // namespace keepbox
