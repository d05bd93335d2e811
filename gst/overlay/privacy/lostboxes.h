// SPDX-License-Identifier: LGPL-2.1-or-later
// Obscured objects that frames do not have any more.
#pragma once

#include <gst/gst.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gst/metas/framebox.h"
#include "gst/overlay/privacy/obscure.h"

namespace keepbox {

/// Remembers the boxes that were obscured and have a tracking id, so that an object stays obscured
/// for a time on frames that do not have it, or have it as another class.
class LostBoxes {
 public:
  /// The maximum number of objects.
  static constexpr size_t kMaxBoxes = 4096;

  /// Begins a frame, and forgets what is older than `keep` or later than the frame, as after a
  /// seek.
  /// @param time of the frame; GST_CLOCK_TIME_NONE: nothing is remembered until the next frame.
  void start(GstClockTime time, GstClockTime keep);

  /// Returns how a box of the frame is to be obscured, and remembers it.
  /// @param listed as its class requires; kNone if it was obscured recently counts as that.
  Obscuring note(const FrameBox& box, Obscuring listed);

  /// Adds the remembered boxes that were not noted on this frame: each where it was last, and where
  /// it would be now if it went on at its speed.
  void add_lost(std::vector<ObscuredBox>& out) const;

  void clear() { tracks_.clear(); }

 private:
  struct Track {
    ObscuredBox last;
    GstClockTime time = 0;            // of that box
    GstClockTime listed = 0;          // when its class was last in a list
    double speed_x = 0, speed_y = 0;  // pixels per ns
    bool moving = false;              // the speed was measured
  };
  using Key = std::pair<GQuark, guint64>;  // model, tracking id

  GstClockTime now_ = GST_CLOCK_TIME_NONE;
  std::map<Key, Track> tracks_;
};

}  // namespace keepbox
