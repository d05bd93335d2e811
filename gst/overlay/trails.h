// SPDX-License-Identifier: LGPL-2.1-or-later
// The ways that tracked objects have taken.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "gst/metas/framebox.h"
#include "gst/metas/objectkey.h"

namespace keepbox {

/// A point of a trail in frame pixels.
struct TrailPoint {
  float x = 0, y = 0;
};

/// Remembers the centres of boxes with a tracking id for a time.
class Trails {
 public:
  /// The maximum number of points per trail, and of trails; older ones are forgotten.
  static constexpr size_t kMaxPoints = 1000, kMaxTrails = 4096;

  /// Adds a frame's boxes, and forgets what is older than `length` or later than the frame, as
  /// after a seek. @param time of the frame; GST_CLOCK_TIME_NONE: nothing is added.
  void add(std::span<const FrameBox> boxes, GstClockTime time, GstClockTime length);
  void clear() { trails_.clear(); }

  /// Returns the points of a box's object, the oldest first; empty for boxes without an
  /// id.
  std::vector<TrailPoint> of(const FrameBox& box) const;

 private:
  struct Entry {
    GstClockTime time;
    TrailPoint at;
  };
  void forget(GstClockTime time, GstClockTime length);

  std::map<ObjectKey, std::deque<Entry>> trails_;
};

}  // namespace keepbox
