// SPDX-License-Identifier: LGPL-2.1-or-later
// The tracks of a stream: reads the boxes of its frames, and writes their ids.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "core/track/streamclock.h"
#include "core/track/tracker.h"
#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"
#include "gst/track/properties.h"

namespace keepbox {

// A box as its model found it last, kept to be moved with its object.

/// Properties that later frames repeat together with a box: the object that it is a part
/// of, class number and anchor. Anchors are numbered for each tile and for each object.
using Repetition =
    std::tuple<std::optional<ObjectKey>, std::optional<uint32_t>, std::optional<uint32_t>>;

/// A box with its track, and copies of what the frame's metas own.
class FollowedBox {
 public:
  /// @param track may have no id yet. @param place the track's box. @param repetition of the box.
  /// @param seen time of the frame.
  FollowedBox(const FrameBox& box, const BoxTrack& track, const Box& place, Repetition repetition,
              int64_t seen);

  /// Returns the box, without a mask; its keypoints and values are owned by this.
  FrameBox box() const;
  const BoxTrack& track() const { return track_; }
  int64_t seen() const { return seen_; }
  const Repetition& repetition() const { return repetition_; }
  bool is_at(const Box& place) const { return box_.box == place; }

  /// Returns the box, marked as predicted, where it is after its track has moved: it keeps its
  /// place in the track's box, and its keypoints theirs in the box. An oriented box keeps its sides
  /// and its angle.
  /// @param to the track's box now.
  FollowedBox moved(const Box& to) const;

 private:
  FrameBox box_;
  BoxTrack track_;
  Box place_;  // of the track when it was seen
  Repetition repetition_;
  int64_t seen_;
  std::vector<Keypoint> keypoints_;
  std::vector<Edge> edges_;
  std::vector<float> values_;
};

/// Follows the boxes of each model with a tracker of its own; ids are unique among them.
class BoxTracks {
 public:
  /// The maximum number of models; boxes of others are not followed.
  static constexpr size_t kMaxModels = 64;

  /// @param element whose trackers upstream are asked whether they follow a model; outlives this.
  explicit BoxTracks(GstElement* element) : element_(element) {}

  /// Takes properties. Tracks go on, unless the method or the model changes.
  /// @param interval of frames by the caps, in ns; 0 if unknown.
  void set(const TrackProps& props, int64_t interval);
  /// Ends all tracks.
  void end();
  /// Ends all tracks for another stream: ids start at 1 again, and boxes of all models may be
  /// followed.
  void restart();

  /// Follows objects to a frame and attaches a GstAnalyticsTrackingMtd to each box with an id, and
  /// boxes below the score threshold that have one. Boxes that repeat earlier ones get their ids,
  /// each id once. On frames that the model left out, or looked at in part, no object is missed,
  /// and with predict=true expected boxes are attached. Boxes of models that another tracker
  /// follows, as an id on one of their boxes or a tracker upstream shows, are left alone until
  /// restart().
  /// @param buffer writable. @param time running time. If it goes back, tracks go on or end, as
  /// StreamClock decides. @return kInvalid if there are too many mtds;
  /// the frame is as it was.
  Status follow(GstBuffer* buffer, int64_t time, Size frame);

  /// True if predict=true left boxes of the last frame where they were, because they repeat those
  /// of an earlier frame.
  bool has_unmoved_boxes() const { return has_unmoved_boxes_; }
  /// Returns the counts of the last frame.
  const TrackCounts& counts() const { return counts_; }

 private:
  struct OfModel {  // a model's tracks, and its boxes on this frame
    Tracker tracker;
    std::vector<FollowedBox> last{};  // boxes of its tracks as they were found last
    std::vector<FrameBox> boxes{}, weak{}, held{};
    std::set<uint64_t> here{};  // numbers of tracks that have a box on this frame
  };
  enum class Look {
    kNone,   // the model found nothing new
    kPart,   // it ran on some of the frame's objects
    kWhole,  // what it did not find is missed
  };
  struct Id {  // of a box that is attached
    guint od_id;
    BoxTrack track;
    int64_t seen;  // time by the clock at which the model last found its object
  };

  bool read(GstBuffer* buffer, Size frame);
  void sort_box(const FrameBox& box, std::vector<FrameBox> OfModel::* list);
  OfModel* of_model(GQuark model);
  Repetition repetition_of(const FrameBox& box) const;
  std::vector<const FollowedBox*> repeated_in(const OfModel& model) const;
  void follow(OfModel& model, int64_t time, Look look);
  std::vector<FollowedBox> update(OfModel& model, std::span<const FollowedBox* const> repeated,
                                  int64_t time, Look look);
  void predict(const OfModel& model, int64_t time, Size frame);
  Status attach(GstBuffer* buffer, Size frame);

  GstElement* element_;
  TrackProps props_;
  TrackSettings settings_;
  TrackIds ids_given_;
  StreamClock clock_;
  ModelLooks looks_;
  std::set<GQuark> foreign_;                        // models whose boxes another element follows
  std::vector<std::pair<GQuark, OfModel>> models_;  // as they first appeared, which orders ids

  // The frame:
  std::vector<FrameBox> boxes_;
  std::vector<Id> ids_;           // of boxes on the frame
  std::vector<FollowedBox> new_;  // boxes to attach
  TrackCounts counts_;
  bool has_unmoved_boxes_ = false;
};

}  // namespace keepbox
