// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracks: predicted, matched with boxes by a method, begun and ended.
#include "core/track/tracker.h"

#include <algorithm>
#include <functional>

#include "core/formula/numeric.h"

namespace keepbox {

/// Collects tracks as rows and boxes without a track as columns, and returns their overlaps.
/// @param has_track true for the tracks to match. @param box_of returns the box of a track.
std::span<const Overlap> Tracker::collect(const auto& has_track, const auto& box_of, Use use) {
  rows_.clear();
  cols_.clear();
  row_boxes_.clear();
  col_boxes_.clear();
  pairs_.clear();
  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    if (tracks_[i].box != kUnmatched || !has_track(tracks_[i])) continue;
    rows_.push_back(i);
    row_boxes_.push_back({box_of(tracks_[i]), tracks_[i].kind});
  }
  for (uint32_t i = 0; i < boxes_.size(); ++i) {
    if (use_[i] != use) continue;
    cols_.push_back(i);
    col_boxes_.push_back({boxes_[i].box, boxes_[i].kind});
  }
  if (rows_.empty() || cols_.empty()) return {};
  return overlaps_.find(row_boxes_, col_boxes_);
}

/// Removes the tracks for which `ended` returns true.
void Tracker::erase(const auto& ended) { std::erase_if(tracks_, ended); }

namespace {

constexpr int64_t kLongestGap = 1'000'000'000;  // ns; looks may be as rare as that
constexpr float kFarthest = 1 << 24;            // all integers up to here are floats

bool is_followed(const Box& b) {
  const auto inside = [](float x) { return x >= -kFarthest && x <= kFarthest; };
  return inside(b.x1) && inside(b.y1) && inside(b.x2) && inside(b.y2) && b.x2 - b.x1 > 0.0f &&
         b.y2 - b.y1 > 0.0f;
}

}  // namespace

void Observations::add(uint64_t frame, const Box& box) {
  at_[frame % at_.size()] = {frame, box, true};
  last_ = frame;
}

const Box& Observations::before(uint64_t frame) const {
  for (uint64_t back = std::min(kSpan, frame); back > 0; --back) {
    const Entry& entry = at_[(frame - back) % at_.size()];
    if (entry.set && entry.frame == frame - back) return entry.box;
  }
  return last();
}

void Tracker::reset() {
  tracks_.clear();
  frame_ = 0;
}

void Tracker::set(const TrackSettings& settings) { settings_ = settings; }

std::vector<Track>::const_iterator Tracker::find(uint64_t number) const {
  const auto found = std::ranges::lower_bound(tracks_, number, {}, &Track::number);
  return found != tracks_.end() && found->number == number ? found : tracks_.end();
}

std::span<const BoxTrack> Tracker::update(std::span<const Observation> boxes, int64_t time,
                                          Misses misses) {
  if (frame_ == 0) time_ = time;
  time = std::max(time, time_);
  end_overdue(time);
  steps_ = steps_until(time);
  passed_ = time - time_;
  time_ = time;
  misses_ = misses;
  ++frame_;
  classify_boxes(boxes);
  for (Track& track : tracks_) track.box = kUnmatched;
  if (settings_.method == TrackMethod::kByteTrack) byte_track();
  else sort();
  report();
  return out_;
}

/// Returns the steps since the last update: two rounded divisions, one of them to float32.
float Tracker::steps_until(int64_t time) const {
  return static_cast<float>(static_cast<double>(time - time_) /
                            static_cast<double>(settings_.step));
}

/// Divides boxes by score: matched first, matched next, or not used.
void Tracker::classify_boxes(std::span<const Observation> boxes) {
  boxes_ = boxes;
  out_.assign(boxes.size(), {});
  use_.assign(boxes.size(), Use::kNone);
  const TrackParams& p = settings_.params;
  size_t used = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].track != 0 || !is_followed(boxes[i].box)) continue;
    if (boxes[i].score > p.high_threshold) use_[i] = Use::kHigh;
    else if (boxes[i].score > p.low_threshold) use_[i] = Use::kLow;
    used += use_[i] != Use::kNone;
  }
  if (used <= kMaxTracks) return;
  std::vector<uint32_t> best;
  for (uint32_t i = 0; i < boxes.size(); ++i)
    if (use_[i] != Use::kNone) best.push_back(i);
  std::ranges::stable_sort(best, std::greater{}, [&](uint32_t i) { return boxes[i].score; });
  for (size_t i = kMaxTracks; i < best.size(); ++i) use_[best[i]] = Use::kNone;
}

/// Adds a pair that may be matched, unless its weight is negative. Weights are limited because
/// scores need not be probabilities.
void Tracker::add_pair(const Overlap& overlap, float weight) {
  constexpr float kMax = 16;
  if (weight >= 0.0f) pairs_.push_back({overlap.row, overlap.col, std::min(weight, kMax)});
}

/// Matches collected tracks and boxes by the weights of the pairs. @param min_iou matches with less
/// overlap are dropped again.
void Tracker::assign(float min_iou) {
  if (pairs_.empty()) return;
  const auto cols = assigner_.solve(static_cast<uint32_t>(rows_.size()),
                                    static_cast<uint32_t>(cols_.size()), pairs_);
  for (size_t row = 0; row < cols.size(); ++row)
    if (cols[row] != kUnmatched &&
        iou_of(row_boxes_[row].box, col_boxes_[cols[row]].box) >= min_iou)
      update_track(rows_[row], cols_[cols[row]]);
}

/// Assigns a box to a track, and corrects its motion as the method does.
void Tracker::update_track(uint32_t index, uint32_t box) {
  Track& track = tracks_[index];
  const Box& at = boxes_[box].box;
  use_[box] = Use::kNone;
  if (settings_.method == TrackMethod::kOcSort) {
    const Box& from = track.observations.before(frame_);
    track.direction = direction_of(from, at);
    correct_after_loss(track, at);
    track.observations.add(frame_, at);
    track.seen_motion = track.motion;
  } else {
    track.motion.correct(at);
  }
  track.box = box;
  track.streak = std::min(track.streak, UINT32_MAX - 1) + 1;
  track.seen = time_;
  track.unlooked = 0;
  track.seen_frame = frame_;
}

/// Moves tracks by the boxes that repeat theirs. These are no matches that would confirm a track.
void Tracker::follow_repeated() {
  for (uint32_t i = 0; i < boxes_.size(); ++i) {
    const auto found = boxes_[i].track != 0 ? find(boxes_[i].track) : tracks_.end();
    if (found == tracks_.end() || found->box != kUnmatched || !is_followed(boxes_[i].box)) continue;
    const auto index = static_cast<uint32_t>(found - tracks_.begin());
    const uint32_t streak = found->streak;
    update_track(index, i);
    tracks_[index].streak = streak;
  }
}

/// Starts tracks for the unmatched boxes with high scores.
void Tracker::start_tracks() {
  const bool confirmed = frame_ == 1 || settings_.params.confirm_after == 0;
  for (uint32_t i = 0; i < boxes_.size(); ++i) {
    if (use_[i] != Use::kHigh || !(boxes_[i].score >= settings_.params.new_threshold)) continue;
    if (tracks_.size() >= kMaxTracks && !end_longest_lost()) return;
    const Motion motion(row_of(settings_.method).motion, boxes_[i].box, settings_.by_time);
    tracks_.push_back({.number = ++last_number_,
                       .kind = boxes_[i].kind,
                       .box = i,
                       .motion = motion,
                       .seen_motion = motion,
                       .state = confirmed ? Track::State::kSeen : Track::State::kNew,
                       .seen_frame = frame_,
                       .since = time_,
                       .seen = time_});
    tracks_.back().observations.add(frame_, boxes_[i].box);
  }
}

bool Tracker::end_longest_lost() {
  const auto lost_for_longest =
      std::ranges::min_element(tracks_, [](const Track& a, const Track& b) {
        if ((a.box == kUnmatched) != (b.box == kUnmatched)) return a.box == kUnmatched;
        return a.seen < b.seen;
      });
  if (lost_for_longest->box != kUnmatched) return false;
  tracks_.erase(lost_for_longest);
  return true;
}

/// Returns the time after which lost tracks end; half a frame more, because times are rounded.
int64_t Tracker::lost_after() const {
  const int64_t after = settings_.params.lost_after;
  return (after > 0 ? after : settings_.interval) + settings_.interval / 2;
}

/// Ends tracks that have been missed for too long, or not looked for as long as frames may be rare.
void Tracker::end_tracks() {
  const bool by_time = settings_.params.lost_after > 0;
  const int64_t longest = std::max(lost_after(), kLongestGap) + settings_.interval;
  for (Track& track : tracks_) {
    if (track.box != kUnmatched || is_missed(track)) continue;
    track.unlooked += passed_;
    ++track.seen_frame;
  }
  erase([&](const Track& track) {
    if (track.box != kUnmatched) return false;
    if (!is_missed(track)) return time_ - track.seen > longest;
    return by_time ? time_ - track.missed_since() > lost_after() : frame_ - track.seen_frame > 1;
  });
}

/// Ends tracks that would have ended if frames had come at their usual interval up to now.
void Tracker::end_overdue(int64_t time) {
  const bool pause = time - time_ > std::max(lost_after(), kLongestGap) + settings_.interval;
  const bool by_time = settings_.params.lost_after > 0;
  erase([&](const Track& track) {
    const bool lost = by_time && track.missed_since() < time_;
    return pause || (lost && time - track.missed_since() > lost_after() + settings_.interval);
  });
}

/// @pre it has a box.
bool Tracker::is_reported(const Track& track) const {
  if (settings_.method == TrackMethod::kByteTrack) return track.state != Track::State::kNew;
  const uint32_t after = settings_.params.confirm_after;
  return track.streak >= after || frame_ <= after;
}

void Tracker::report() {
  for (Track& track : tracks_) {
    if (track.box == kUnmatched) continue;
    BoxTrack& out = out_[track.box];
    out.number = track.number;
    if (!is_reported(track)) continue;
    if (track.id == 0) track.id = ++ids_->last;
    out.id = track.id;
    out.since = track.since;
  }
}

Box Tracker::moved(uint64_t number, int64_t time) const {
  const auto track = find(number);
  if (track == tracks_.end()) return {};
  Motion motion = track->motion;
  if (time > time_) motion.advance(steps_until(time));
  return motion.box();
}

namespace {

constexpr float kLowIou = 0.5f;         // minimum overlap with boxes of low scores
constexpr float kNewIou = 0.3f;         // minimum overlap times score, of tracks without an id
constexpr float kDuplicateIou = 0.85f;  // tracks that overlap by more are of one object

// Frames that are further apart than 0.1 s: boxes without a match are grown on all sides for
// another matching, by parts of their sides per second, as an object may have moved past itself
// (buffered overlap; Yang et al. 2023, arXiv 2211.14317, whose buffer does not depend on time).
constexpr double kNear = 0.1;  // s
struct Reach {
  double per_second, most;
};
constexpr Reach kReachSeen = {3.5, 1};   // of tracks that were seen on the last frame
constexpr Reach kReachNew = {3.5, 0.5};  // of tracks without an id
constexpr float kReachedIou = 0.3f;      // minimum overlap of grown boxes times score

/// Returns the part of its sides by which a box is grown, for frames that are `passed` ns apart.
float reach_of(int64_t passed, const Reach& reach) {
  const double beyond = static_cast<double>(passed) / 1e9 - kNear;
  return static_cast<float>(std::clamp(reach.per_second * beyond, 0.0, reach.most));
}

Box grown(const Box& b, float part) {
  const float w = (b.x2 - b.x1) * part, h = (b.y2 - b.y1) * part;
  return {b.x1 - w, b.y1 - h, b.x2 + w, b.y2 + h};
}

}  // namespace

/// Matches tracks with boxes of high scores by overlap times score. @param reach part of their
/// sides by which both are grown.
void Tracker::match_scored(const auto& has_track, float reach, float min_weight) {
  const auto box_of = [](const Track& track) { return track.motion.box(); };
  auto overlaps = collect(has_track, box_of, Use::kHigh);
  if (reach > 0.0f && !rows_.empty() && !cols_.empty()) {
    for (auto* boxes : {&row_boxes_, &col_boxes_})
      for (KindBox& each : *boxes) each.box = grown(each.box, reach);
    overlaps = overlaps_.find(row_boxes_, col_boxes_);
  }
  for (const Overlap& o : overlaps) add_pair(o, o.iou * boxes_[cols_[o.col]].score - min_weight);
  assign(0);
}

/// Matches unconfirmed tracks without a prediction, as published. At low rates it predicts them,
/// too, because the second box then has most of their movement.
void Tracker::byte_track() {
  using enum Track::State;
  const int64_t passed = settings_.by_time ? passed_ : 0;
  const float reach_seen = reach_of(passed, kReachSeen), reach_new = reach_of(passed, kReachNew);
  for (Track& track : tracks_)
    if (track.state != kNew || reach_new > 0.0f) track.motion.advance(steps_, track.state != kLost);
  follow_repeated();
  const auto box_of = [](const Track& track) { return track.motion.box(); };

  match_scored([](const Track& track) { return track.state != kNew; }, 0,
               settings_.params.match_iou);
  const bool lost_too = settings_.params.recover_lost;
  const auto can_be_weak = [&](const Track& track) {
    return track.state == kSeen || (lost_too && track.state == kLost);
  };
  for (const Overlap& o : collect(can_be_weak, box_of, Use::kLow)) add_pair(o, o.iou - kLowIou);
  assign(0);
  const auto is_seen = [](const Track& track) { return track.state == kSeen; };
  const auto is_new = [](const Track& track) { return track.state == kNew; };
  if (reach_seen > 0.0f) match_scored(is_seen, reach_seen, kReachedIou);
  match_scored(is_new, 0, kNewIou);
  if (reach_new > 0.0f) match_scored(is_new, reach_new, kReachedIou);

  erase([&](const Track& track) { return track.state == kNew && is_missed(track); });
  for (Track& track : tracks_) {
    if (is_missed(track)) track.state = kLost;
    else if (track.box == kUnmatched) continue;
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
  follow_repeated();
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
  if (directed) match_low_scores();
  if (directed) match_last_seen();
  for (Track& track : tracks_)
    if (is_missed(track)) track.streak = 0;
  start_tracks();
  end_tracks();
}

/// Matches the remaining tracks that have been confirmed by matches in a row with boxes of low
/// scores. The authors' code does so if asked (use_byte), for all tracks and at the usual overlap.
void Tracker::match_low_scores() {
  const auto is_confirmed = [&](const Track& track) {
    return track.streak >= settings_.params.confirm_after;
  };
  const auto box_of = [](const Track& track) { return track.motion.box(); };
  for (const Overlap& o : collect(is_confirmed, box_of, Use::kLow)) add_pair(o, o.iou);
  assign(kLowIou);
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

// The parameters that the authors of each method published.

namespace {

constexpr int64_t kSecond = 1'000'000'000;

constexpr TrackMethodRow kMethods[] = {
    // Zhang et al. 2022, arXiv 2110.06864, section 4: 0.6, 0.1, 0.7 and 30 frames at 30 per second;
    // an IoU of 0.2, multiplied by the score as in the authors' code.
    {TrackMethod::kByteTrack,
     "bytetrack",
     "Matches boxes of high scores by overlap and score, then tracks that are left with boxes of "
     "low scores",
     MotionModel::kCenterHeight,
     {0.6f, 0.1f, 0.7f, 0.2f, false, 1, kSecond}},
    // Bewley et al. 2016, arXiv 1602.00763: every box counts, lost after one frame, 3 hits.
    {TrackMethod::kSort,
     "sort",
     "Matches all boxes by overlap; a track ends with its second miss",
     MotionModel::kAreaAspect,
     {0, 0, 0, 0.3f, false, 3, 0}},
    // Cao et al. 2023, arXiv 2203.14360: 0.6, an IoU of 0.3, 30 frames, 3 hits. 0.1 is that of the
    // authors' code with use_byte.
    {TrackMethod::kOcSort,
     "oc-sort",
     "SORT with the direction of movement, further matchings with boxes of low scores and by the "
     "last seen boxes, and a motion that is corrected after an occlusion",
     MotionModel::kAreaAspect,
     {0.6f, 0.1f, 0.6f, 0.3f, false, 3, kSecond}},
};

}  // namespace

std::span<const TrackMethodRow> track_methods() { return kMethods; }

}  // namespace keepbox
