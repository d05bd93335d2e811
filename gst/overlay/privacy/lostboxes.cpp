// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps places and speeds by tracking id.
#include "gst/overlay/privacy/lostboxes.h"

#include <cmath>
#include <utility>

namespace keepbox {
namespace {

constexpr double kNewest = 0.5;  // weight of the newest speed

bool is_finite(const Box& b) { return std::isfinite(double{b.x1} + b.y1 + b.x2 + b.y2); }

double middle_x(const Box& b) { return (double{b.x1} + b.x2) / 2; }
double middle_y(const Box& b) { return (double{b.y1} + b.y2) / 2; }

Box moved(const Box& b, double dx, double dy) {
  const auto x = static_cast<float>(dx), y = static_cast<float>(dy);
  return {b.x1 + x, b.y1 + y, b.x2 + x, b.y2 + y};
}

}  // namespace

void LostBoxes::start(GstClockTime time, GstClockTime keep) {
  now_ = time;
  if (!GST_CLOCK_TIME_IS_VALID(time) || keep == 0) return tracks_.clear();
  std::erase_if(tracks_, [&](const auto& each) {
    return each.second.time > time || each.second.listed + keep < time;
  });
}

Obscuring LostBoxes::note(const FrameBox& box, Obscuring listed) {
  if (!box.tracking_id || !GST_CLOCK_TIME_IS_VALID(now_) || !is_finite(box.box)) return listed;
  const Key key{box.model, *box.tracking_id};
  auto found = tracks_.find(key);
  if (found == tracks_.end()) {
    if (listed == Obscuring::kNone || tracks_.size() >= kMaxBoxes) return listed;
    found = tracks_.emplace(key, Track{.time = now_}).first;
  }
  Track& track = found->second;
  if (listed != Obscuring::kNone) {
    track.last.how = listed;
    track.listed = now_;
  }
  if (track.time < now_ && !box.held) {  // a held box is where it was
    const auto passed = static_cast<double>(now_ - track.time);
    const double weight = std::exchange(track.moving, true) ? kNewest : 1;
    const double x = (middle_x(box.box) - middle_x(track.last.box)) / passed;
    const double y = (middle_y(box.box) - middle_y(track.last.box)) / passed;
    track.speed_x += (x - track.speed_x) * weight;
    track.speed_y += (y - track.speed_y) * weight;
  }
  track.last.box = box.box;
  track.last.angle = box.angle;
  track.time = now_;
  return track.last.how;
}

void LostBoxes::add_lost(std::vector<ObscuredBox>& out) const {
  for (const auto& [key, track] : tracks_) {
    if (track.time == now_) continue;
    const auto passed = static_cast<double>(now_ - track.time);
    out.push_back(track.last);
    ObscuredBox ahead = track.last;
    ahead.box = moved(ahead.box, track.speed_x * passed, track.speed_y * passed);
    out.push_back(ahead);
  }
}

}  // namespace keepbox
