// SPDX-License-Identifier: LGPL-2.1-or-later
// The tracks of a stream: reads the boxes of its frames, and writes their ids.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "core/track/streamclock.h"
#include "core/track/tracker.h"
#include "gst/metas/boxes.h"
#include "gst/track/properties.h"

namespace keepbox {

// A box of the last analysed frame, kept to be moved with its object.

/// A box with its track, and copies of what the frame's metas own.
class FollowedBox {
 public:
  /// @param seen running time of the frame, on which the model found the box.
  FollowedBox(const FrameBox& box, const BoxTrack& track, int64_t seen);

  /// Returns the box, without a mask; its keypoints and values are owned by this.
  FrameBox box() const;
  const BoxTrack& track() const { return track_; }
  int64_t seen() const { return seen_; }
  /// True if it is the same box as one of a later frame that repeats it.
  bool is_repeated_by(const FrameBox& held) const;

  /// Returns the box, marked as predicted, where it is after its track has moved: it keeps its
  /// place in the track's box, and its keypoints theirs in the box. An oriented box keeps its sides
  /// and its angle.
  /// @param from, to the track's box on the last analysed frame and now.
  FollowedBox moved(const Box& from, const Box& to) const;

 private:
  FrameBox box_;
  BoxTrack track_;
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
  /// boxes below the score threshold that have one. On frames that the model left out, boxes that
  /// repeat earlier ones get their ids, and with predict=true expected boxes are attached. Boxes
  /// of models that another tracker follows, as an id on one of their boxes or a tracker upstream
  /// shows, are left alone until restart().
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
    std::vector<FollowedBox> last{};  // boxes with an id of the last analysed frame
    int64_t time = 0;                 // of that frame, by the clock
    std::vector<FrameBox> boxes{}, weak{}, held{};
  };
  struct Id {  // of a box that is attached
    guint od_id;
    BoxTrack track;
    int64_t seen;  // time by the clock at which the model last found its object
  };

  bool read(GstBuffer* buffer, Size frame);
  void sort_box(const FrameBox& box, std::vector<FrameBox> OfModel::* list);
  OfModel* of_model(GQuark model);
  void analyse(OfModel& model, int64_t time);
  void repeat(OfModel& model);
  void predict(const OfModel& model, int64_t time, Size frame);
  Status attach(GstBuffer* buffer, Size frame);

  GstElement* element_;
  TrackProps props_;
  TrackSettings settings_;
  TrackIds ids_given_;
  StreamClock clock_;
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
