// SPDX-License-Identifier: LGPL-2.1-or-later
// SORT: Bewley et al., "Simple Online and Realtime Tracking", ICIP 2016 (arXiv 1602.00763).
// OC-SORT: Cao et al., "Observation-Centric SORT: Rethinking SORT for Robust Multi-Object
// Tracking", CVPR 2023 (arXiv 2203.14360).
#include <algorithm>

#include "core/formula/numeric.h"
#include "core/track/direction.h"
#include "core/track/matching.h"

namespace keepbox {
namespace {

constexpr float kDirectionWeight = 0.2f;  // of agreeing directions, multiplied by the score
constexpr uint64_t kMaxVirtual = 64;      // boxes between the ends of an occlusion

float center(float low, float high) { return low + (high - low) * 0.5f; }

Box between(const Box& a, const Box& b, float part) {
  const auto mix = [part](float from, float to) { return from + (to - from) * part; };
  return {mix(a.x1, b.x1), mix(a.y1, b.y1), mix(a.x2, b.x2), mix(a.y2, b.y2)};
}

}  // namespace

Direction direction_of(const Box& from, const Box& to) {
  const float x = center(to.x1, to.x2) - center(from.x1, from.x2);
  const float y = center(to.y1, to.y2) - center(from.y1, from.y2);
  const float length = square_root(x * x + y * y);
  return length > 0.0f ? Direction{x / length, y / length} : Direction{};
}

float agreement(const Direction& a, const Direction& b) {
  const float dot = a.x * b.x + a.y * b.y, cross = a.x * b.y - a.y * b.x;
  if ((a.x == 0.0f && a.y == 0.0f) || (b.x == 0.0f && b.y == 0.0f)) return 0;
  constexpr float kPi = 3.14159265f;
  return (kPi * 0.5f - atan2_f32(magnitude(cross), dot)) / kPi;
}

/// The largest sum of overlaps is found first and small overlaps are dropped afterwards, as
/// published.
void Tracker::sort() {
  for (Track& track : tracks_) track.motion.advance(steps_);
  const auto any = [](const Track&) { return true; };
  const auto overlaps =
      collect(any, [](const Track& track) { return track.motion.box(); }, Use::kHigh);
  const bool directed = settings_.method == TrackMethod::kOcSort;
  for (const Overlap& o : overlaps) {
    const Track& track = tracks_[rows_[o.row]];
    const Observation& box = boxes_[cols_[o.col]];
    const float agrees =
        directed
            ? agreement(track.direction, direction_of(track.observations.before(frame_), box.box))
            : 0.0f;
    const float bonus = agrees == 0.0f ? 0.0f : kDirectionWeight * agrees * box.score;
    add_pair(o, o.iou + bonus);
  }
  assign(settings_.params.match_iou);
  if (directed) match_last_seen();
  for (Track& track : tracks_)
    if (track.box == kUnmatched) track.streak = 0;
  start_tracks();
  end_tracks();
}

/// Matches the remaining tracks by their last observed boxes (observation-centric recovery).
void Tracker::match_last_seen() {
  const auto any = [](const Track&) { return true; };
  const auto last = [](const Track& track) { return track.observations.last(); };
  for (const Overlap& o : collect(any, last, Use::kHigh)) add_pair(o, o.iou);
  assign(settings_.params.match_iou);
}

/// Corrects a motion. After frames without a match, replays it from the last match, as if the
/// object had moved in a straight line (observation-centric re-update).
void Tracker::correct_after_loss(Track& track, const Box& box) const {
  const uint64_t frames = std::min(frame_ - track.seen_frame, kMaxVirtual);
  if (frames < 2) return track.motion.correct(box);
  const Box from = track.observations.last();
  const auto count = static_cast<float>(frames);
  const float steps = static_cast<float>(static_cast<double>(time_ - track.seen) /
                                         static_cast<double>(settings_.step)) /
                      count;
  track.motion = track.seen_motion;
  for (uint64_t i = 1; i <= frames; ++i) {
    track.motion.advance(steps);
    track.motion.correct(i == frames ? box : between(from, box, static_cast<float>(i) / count));
  }
}

}  // namespace keepbox
