// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that frames do not have any more: those that a model missed, and those on frames that it
// did not look at.
#pragma once

#include <gst/gst.h>

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "gst/metas/framebox.h"
#include "gst/metas/objectkey.h"
#include "gst/metas/skippedmodels.h"
#include "gst/overlay/privacy/obscure.h"

namespace keepbox {

/// Remembers the boxes of each model on the last frame that it looked at.
class LastLook {
 public:
  /// Begins a frame. @param time of the frame; an earlier one than that of the last frame forgets
  /// everything, as after a seek. @param boxes of the frame
  void start(GstClockTime time, const SkippedModels& skipped, std::span<const FrameBox> boxes);

  /// Returns the boxes of models that skipped this frame which the frame does not repeat or follow,
  /// without masks.
  std::span<const FrameBox> missing() const { return missing_; }
  /// True if a model skipped this frame that has not looked at any frame yet.
  bool unknown() const { return unknown_; }

  void clear() { *this = {}; }

 private:
  void note_models(const SkippedModels& skipped);
  void find_missing(std::span<const FrameBox> boxes);

  GstClockTime time_ = GST_CLOCK_TIME_NONE;
  std::vector<FrameBox> boxes_;    // of each model's last look
  std::vector<FrameBox> missing_;  // of these, on this frame
  std::vector<GQuark> unseen_;     // models that have not looked at any frame
  bool began_ = false;             // a frame was there on which decoders noted what they skipped
  bool unknown_ = false;
};

/// Remembers the boxes that were obscured and have a tracking id, so that an object stays obscured
/// for a time on frames that do not have it, or have it as another class. Frames that its model
/// skipped do not count.
class LostBoxes {
 public:
  /// The maximum number of objects.
  static constexpr size_t kMaxBoxes = 4096;

  /// Begins a frame, and forgets what is older than `keep` or later than the frame, as after a
  /// seek.
  /// @param time of the frame; GST_CLOCK_TIME_NONE: nothing is remembered until the next frame.
  void start(GstClockTime time, GstClockTime keep, const SkippedModels& skipped);

  /// Returns how a box of the frame is to be obscured, and remembers it.
  /// @param listed as its class requires; kNone if it was obscured recently counts as that.
  Obscuring note(const FrameBox& box, Obscuring listed);

  /// Adds the remembered boxes that were not noted on this frame: each where it was last, and where
  /// it would be now if it went on at its speed.
  void add_lost(std::vector<ObscuredBox>& out);
  /// True if that object is remembered.
  bool has(const FrameBox& box) const;

  void clear() { tracks_.clear(); }

 private:
  struct Track {
    ObscuredBox last;
    GstClockTime time = 0;            // of that box
    GstClockTime listed = 0;          // when its class was last in a list, or its model skipped
    double speed_x = 0, speed_y = 0;  // pixels per ns
    bool moving = false;              // the speed was measured
  };

  GstClockTime now_ = GST_CLOCK_TIME_NONE;
  SkippedModels skipped_;
  std::map<ObjectKey, Track> tracks_;
};

}  // namespace keepbox
