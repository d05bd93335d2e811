// SPDX-License-Identifier: LGPL-2.1-or-later
// ByteTrack: Zhang et al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box",
// ECCV 2022 (arXiv 2110.06864), with the parameters of the authors' code where the paper has none.
#include "core/track/matching.h"

namespace keepbox {
namespace {

constexpr float kLowIou = 0.5f;         // minimum overlap with boxes of low scores
constexpr float kNewIou = 0.3f;         // minimum overlap times score, of tracks without an id
constexpr float kDuplicateIou = 0.85f;  // tracks that overlap by more are of one object

}  // namespace

/// Tracks that are not confirmed are matched without a prediction, as in the authors' code.
void Tracker::byte_track() {
  using enum Track::State;
  for (Track& track : tracks_)
    if (track.state != kNew) track.motion.advance(steps_, track.state == kSeen);
  const auto box_of = [](const Track& track) { return track.motion.box(); };

  const auto match_scored = [&](bool confirmed, float min_weight) {
    const auto is_row = [&](const Track& track) { return (track.state != kNew) == confirmed; };
    for (const Overlap& o : collect(is_row, box_of, Use::kHigh))
      add_pair(o, o.iou * boxes_[cols_[o.col]].score - min_weight);
    assign(0);
  };
  match_scored(true, settings_.params.match_iou);
  const bool lost_too = settings_.params.recover_lost;
  const auto can_be_weak = [&](const Track& track) {
    return track.state == kSeen || (lost_too && track.state == kLost);
  };
  for (const Overlap& o : collect(can_be_weak, box_of, Use::kLow)) add_pair(o, o.iou - kLowIou);
  assign(0);
  match_scored(false, kNewIou);

  erase([](const Track& track) { return track.state == kNew && track.box == kUnmatched; });
  for (Track& track : tracks_) {
    if (track.box == kUnmatched) track.state = kLost;
    else if (track.state != kNew || track.streak >= settings_.params.confirm_after)
      track.state = kSeen;
  }
  start_tracks();
  end_tracks();
  end_duplicates();
}

/// Ends one of a seen and a lost track that overlap almost completely: the one that was followed
/// for less time, or the seen one if the times are equal.
void Tracker::end_duplicates() {
  using enum Track::State;
  rows_.clear();
  cols_.clear();
  row_boxes_.clear();
  col_boxes_.clear();
  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    if (tracks_[i].state == kNew) continue;
    const bool seen = tracks_[i].state == kSeen;
    (seen ? rows_ : cols_).push_back(i);
    (seen ? row_boxes_ : col_boxes_).push_back({tracks_[i].motion.box(), tracks_[i].kind});
  }
  if (rows_.empty() || cols_.empty()) return;
  for (const Overlap& o : overlaps_.find(row_boxes_, col_boxes_)) {
    if (!(o.iou > kDuplicateIou)) continue;
    Track &seen = tracks_[rows_[o.row]], &lost = tracks_[cols_[o.col]];
    const bool seen_longer = seen.seen - seen.since > lost.seen - lost.since;
    (seen_longer ? lost : seen).duplicate = true;
  }
  erase([](const Track& track) { return track.duplicate; });
}

}  // namespace keepbox
