// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties and statistics of boxtrack.
#pragma once

#include <gst/gst.h>

#include <string>

#include "core/track/tracker.h"
#include "gst/base/props.h"

namespace keepbox {

// The properties of boxtrack.

/// Property values as set. Plain data: copied under the object lock. -1: the method's value.
struct TrackProps {
  int method = static_cast<int>(TrackMethod::kByteTrack);
  gfloat high_threshold = -1, low_threshold = -1, new_threshold = -1;
  gfloat match_iou = -1;
  bool recover_lost = false;
  int confirm_after = -1;
  gint64 lost_after = -1;  // ns
  bool per_class = false;
  bool predict = false;
  gdouble nominal_rate = 30;  // frames per second; 0: by the caps
  std::string model_name;

  bool operator==(const TrackProps&) const = default;
};

const PropertyTable<TrackProps>& track_properties();

/// Returns the parameters of the method, with those that are set in their place.
TrackParams params_of(const TrackProps& props);

// The counters behind boxtrack's `stats` property.

/// Counts of a frame.
struct TrackCounts {
  bool analysed = false;  // the model ran on it
  guint boxes = 0;        // that were given to the tracker
  guint tracked = 0;      // of these with an id
  guint recovered = 0;    // of these that were below the score threshold
  guint predicted = 0;    // boxes where an object is expected
  guint tracks = 0;       // that are followed after it, with lost and unconfirmed ones
  guint64 last_id = 0;
};

/// Counts since the start. Plain data, guarded by its owner.
class TrackStats {
 public:
  void add(const TrackCounts& counts, GstClockTime time);

  /// Returns the structure "boxtrack-stats". Transfer full.
  GstStructure* structure() const;

 private:
  guint64 frames_ = 0, analysed_ = 0, boxes_ = 0, tracked_ = 0, recovered_ = 0, predicted_ = 0;
  guint64 ids_ = 0;
  guint tracks_ = 0;
  GstClockTime time_ = 0;
};

}  // namespace keepbox
