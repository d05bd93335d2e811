// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps places and speeds of objects, and the boxes of the last look.
#include "gst/overlay/privacy/lostboxes.h"

#include <algorithm>
#include <cmath>
#include <set>
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

/// Returns a box without what it borrows.
FrameBox owned(const FrameBox& box) {
  FrameBox out = box;
  out.keypoints = {};
  out.mask = {};
  out.values = {};
  out.labels = {};
  return out;
}

}  // namespace

/// Follows which models have looked at a frame. Those that are not noted on a frame looked at it,
/// whatever they are called.
void LastLook::note_models(const SkippedModels& skipped) {
  const auto& noted = skipped.noted();
  if (!skipped.all()) {
    if (!std::exchange(began_, true)) unseen_.assign(noted.begin(), noted.end());
    else std::erase_if(unseen_, [&](GQuark model) { return !std::ranges::contains(noted, model); });
  }
  unknown_ = skipped.any() && (!began_ || !unseen_.empty());
}

/// Finds the boxes that the frame does not have: held boxes repeat all of a model's, but for parts,
/// which are those of some objects, and a tracker moves those with an id.
void LastLook::find_missing(std::span<const FrameBox> boxes) {
  std::set<GQuark> held;
  std::set<ObjectKey> tracked;
  for (const FrameBox& box : boxes) {
    if (box.held && !box.parent) held.insert(box.model);
    if (const auto object = key_of(box)) tracked.insert(*object);
  }
  missing_.clear();
  for (const FrameBox& box : boxes_) {
    const auto object = key_of(box);
    if (!held.contains(box.model) && !(object && tracked.contains(*object)))
      missing_.push_back(box);
  }
}

void LastLook::start(GstClockTime time, const SkippedModels& skipped,
                     std::span<const FrameBox> boxes) {
  if (GST_CLOCK_TIME_IS_VALID(time)) {
    if (GST_CLOCK_TIME_IS_VALID(time_) && time < time_) clear();
    time_ = time;
  }
  note_models(skipped);
  std::erase_if(boxes_, [&](const FrameBox& box) { return !skipped.has(box.model); });
  find_missing(boxes);
  for (const FrameBox& box : boxes)
    if (!skipped.has(box.model)) boxes_.push_back(owned(box));
}

void LostBoxes::start(GstClockTime time, GstClockTime keep, const SkippedModels& skipped) {
  now_ = time;
  skipped_ = skipped;
  if (!GST_CLOCK_TIME_IS_VALID(time) || keep == 0) return tracks_.clear();
  std::erase_if(tracks_, [&](const auto& each) {
    const auto& [key, track] = each;
    const bool expired = track.listed + keep < time && !skipped.has(key.model);
    return track.time > time || expired;
  });
}

Obscuring LostBoxes::note(const FrameBox& box, Obscuring listed) {
  const auto object = key_of(box);
  if (!object || !GST_CLOCK_TIME_IS_VALID(now_) || !is_finite(box.box)) return listed;
  auto found = tracks_.find(*object);
  if (found == tracks_.end()) {
    if (listed == Obscuring::kNone || tracks_.size() >= kMaxBoxes) return listed;
    found = tracks_.emplace(*object, Track{.time = now_}).first;
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

bool LostBoxes::has(const FrameBox& box) const {
  const auto object = key_of(box);
  return object && tracks_.contains(*object);
}

void LostBoxes::add_lost(std::vector<ObscuredBox>& out) {
  for (auto& [key, track] : tracks_) {
    if (track.time == now_) continue;
    if (skipped_.has(key.model)) track.listed = now_;
    const auto passed = static_cast<double>(now_ - track.time);
    out.push_back(track.last);
    ObscuredBox ahead = track.last;
    ahead.box = moved(ahead.box, track.speed_x * passed, track.speed_y * passed);
    out.push_back(ahead);
  }
}

}  // namespace keepbox
