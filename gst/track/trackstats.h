// SPDX-License-Identifier: LGPL-2.1-or-later
// The counters behind boxtrack's `stats` property.
#pragma once

#include <gst/gst.h>

namespace keepbox {

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
