// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows objects from frame to frame by their boxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/formula/box.h"
#include "core/track/assign.h"
#include "core/track/track.h"

namespace keepbox {

// The tracking methods as a table: name, summary, and published parameters.

enum class TrackMethod : uint8_t { kByteTrack, kSort, kOcSort };

/// Parameters of a method.
struct TrackParams {
  float high_threshold = 0;    // scores above it are matched first
  float low_threshold = 0;     // but kSort: scores above it are matched with what is left
  float new_threshold = 0;     // minimum score of a box that starts a track
  float match_iou = 0;         // minimum overlap in the first matching
  bool recover_lost = false;   // kByteTrack: low scores continue lost tracks too
  uint32_t confirm_after = 0;  // matches in a row, after the first box, before a track counts
  int64_t lost_after = 0;      // ns without a match after which a track ends; 0: two misses
};

struct TrackMethodRow {
  TrackMethod method;
  std::string_view name, summary;
  MotionModel motion;
  TrackParams published;
};

/// Returns all methods, in the order of the enum.
std::span<const TrackMethodRow> track_methods();
inline const TrackMethodRow& row_of(TrackMethod method) {
  return track_methods()[static_cast<size_t>(method)];
}

struct TrackSettings {
  TrackMethod method = TrackMethod::kByteTrack;
  TrackParams params{};
  int64_t step = 1'000'000'000 / 30;      // ns; the interval of frames that noise is defined for
  int64_t interval = 1'000'000'000 / 30;  // ns; usual interval of the stream's frames
  bool by_time = false;  // kByteTrack: reach and noise follow the time between frames and the
                         // residuals; without it they are as published
};

/// A box of a frame, for the tracker. Oriented boxes are followed by their upright bounding boxes.
struct Observation {
  Box box;
  float score = 0;
  uint64_t kind = 0;   // boxes of different kinds are never the same object
  uint64_t track = 0;  // number of the track whose earlier box this one repeats; 0: to be matched
};

/// The track of a box.
struct BoxTrack {
  uint64_t id = 0;      // from 1; 0: no track, or not confirmed yet
  int64_t since = 0;    // ns; time at which the object was first seen
  uint64_t number = 0;  // in its tracker, also if it is not confirmed yet; 0: no track
};

/// Meaning of a frame without a box for a track.
enum class Misses : uint8_t {
  kCount,   // its object was not found
  kIgnore,  // nothing: it was not looked for all objects
};

/// Counter of ids; trackers that share one never assign the same id.
struct TrackIds {
  uint64_t last = 0;
};

/// Follows objects by one of the published methods. A prediction spans the time since the last
/// frame, so that rates may vary and frames may be missing. Tracks end if there is no frame for
/// lost_after and a second.
///
/// Ids are unique, also after reset(), and ascend in the order in which tracks are confirmed. The
/// result depends on nothing but the calls: float32 with one rounding per operation, no libm, ties
/// as Assigner decides them with tracks in the order of their start and boxes in the given order.
class Tracker {
 public:
  /// The maximum numbers of boxes per frame, best first, and of tracks. If there are too many
  /// tracks, the one that is lost for the longest time ends; if none is lost, none is started.
  static constexpr size_t kMaxTracks = 4096;

  /// @pre params are finite, step and interval are above 0. @param ids outlive the tracker.
  Tracker(const TrackSettings& settings, TrackIds& ids) : settings_(settings), ids_(&ids) {}

  /// Follows the objects to the boxes of the next analysed frame. Boxes that are empty, inverted,
  /// not finite or beyond 2^24 pixels get no track. A box that repeats one of a track moves that
  /// track, which it neither confirms nor ends, and starts none.
  /// @param time ns; one before that of the last call is taken as the same.
  /// @return one entry per box. Valid until the next call.
  std::span<const BoxTrack> update(std::span<const Observation> boxes, int64_t time,
                                   Misses misses = Misses::kCount);

  /// True until the track of that number ends.
  bool has(uint64_t number) const { return find(number) != tracks_.end(); }
  /// Returns the box of a track at a time after the last update, without changing anything; an
  /// empty one if the track has ended.
  Box moved(uint64_t number, int64_t time) const;

  /// Ends all tracks. Their ids are not used again.
  void reset();
  /// Changes the parameters and keeps the tracks. @pre the same method.
  void set(const TrackSettings& settings);

  size_t size() const { return tracks_.size(); }

 private:
  enum class Use : uint8_t { kNone, kHigh, kLow };  // of a box that has no track yet

  std::vector<Track>::const_iterator find(uint64_t number) const;

  // tracker.cpp: what all methods share
  void classify_boxes(std::span<const Observation> boxes);
  float steps_until(int64_t time) const;
  int64_t lost_after() const;
  void end_overdue(int64_t time);
  void update_track(uint32_t track, uint32_t box);
  void follow_repeated();
  bool is_missed(const Track& track) const {
    return track.box == kUnmatched && misses_ == Misses::kCount;
  }
  void start_tracks();
  bool end_longest_lost();
  void end_tracks();
  void erase(const auto& ended);
  void report();
  bool is_reported(const Track& track) const;

  // Matching: collect(), then pairs with weights, then assign().
  std::span<const Overlap> collect(const auto& has_track, const auto& box_of, Use use);
  void add_pair(const Overlap& overlap, float weight);
  void assign(float min_iou);

  // tracker.cpp
  void byte_track();
  void match_scored(const auto& has_track, float reach, float min_weight);
  void end_duplicates();

  // tracker.cpp
  void sort();
  void match_low_scores();
  void match_last_seen();
  void correct_after_loss(Track& track, const Box& box) const;

  TrackSettings settings_;
  std::vector<Track> tracks_;  // in the order of their start, which is that of their numbers
  TrackIds* ids_;
  uint64_t frame_ = 0;
  uint64_t last_number_ = 0;
  int64_t time_ = 0;
  int64_t passed_ = 0;  // ns since the last frame
  float steps_ = 0;     // since the last frame
  Misses misses_ = Misses::kCount;

  // The frame:
  std::span<const Observation> boxes_;
  std::vector<Use> use_;       // by box
  std::vector<BoxTrack> out_;  // by box

  // A matching:
  std::vector<uint32_t> rows_, cols_;  // of tracks and boxes
  std::vector<KindBox> row_boxes_, col_boxes_;
  std::vector<Pair> pairs_;
  OverlapFinder overlaps_;
  Assigner assigner_;
};

}  // namespace keepbox
