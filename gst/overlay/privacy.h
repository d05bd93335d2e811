// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects to obscure: by class, and for a while after they were lost.
#pragma once

#include <gst/gst.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"
#include "gst/overlay/obscure.h"
#include "gst/overlay/overlayprops.h"

namespace keepbox {

// Lists of classes as users write them, for boxes of any decoder.

/// A list such as "person,plates/*": classes by name or number, of any model or of one. Names need
/// not be known before boxes have them.
class ClassList {
 public:
  /// Takes another list. @return false without a change, which does nothing.
  bool set(const std::string& text);

  /// True if the list has the box's class; notes that its entry is in use.
  bool has(const FrameBox& box);

  bool empty() const { return entries_.empty(); }
  /// Returns the entries that no box had yet.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    std::string text;
    bool used = false;
  };
  std::string text_;
  std::vector<Entry> entries_;
};

// Objects that frames do not have any more: those that a model missed, and those on frames that it
// did not look at.

/// Remembers the boxes of each model on the last frame that it looked at.
class LastLook {
 public:
  /// Begins a frame. @param time of the frame; an earlier one than that of the last frame forgets
  /// everything, as after a seek. @param boxes of the frame
  void start(GstClockTime time, const SkippedModels& skipped, std::span<const FrameBox> boxes);

  /// Returns the models that may not have looked at this frame.
  const SkippedModels& skipped() const { return skipped_; }
  /// Returns the boxes of models that skipped this frame which the frame does not repeat or follow,
  /// without masks.
  std::span<const FrameBox> missing() const { return missing_; }
  /// True if a model skipped this frame that has not looked at any frame yet.
  bool unknown() const { return looks_.unknown(); }

  void clear() { *this = {}; }

 private:
  void find_missing(std::span<const FrameBox> boxes);

  GstClockTime time_ = GST_CLOCK_TIME_NONE;
  std::vector<FrameBox> boxes_;    // of each model's last look
  std::vector<FrameBox> missing_;  // of these, on this frame
  ModelLooks looks_;
  SkippedModels skipped_;
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

// Chooses the objects of a stream that are obscured.

/// A frame with its boxes.
struct PrivateFrame {
  std::span<const FrameBox> boxes;
  SkippedModels skipped;
  Size size;
  GstClockTime time = GST_CLOCK_TIME_NONE;  // GST_CLOCK_TIME_NONE: unknown
};

/// Chooses objects by the lists of classes, and by what was obscured on earlier frames. On a frame
/// that a model skipped, that is what it found last, or the whole frame if it has not looked at any
/// frame yet.
class Privacy {
 public:
  /// Replaces `out` by the boxes to obscure on the next frame; their masks are borrowed from its
  /// boxes. If its time is unknown, objects that were lost earlier do not count.
  void choose(const PrivateFrame& frame, const OverlayProps& props, std::vector<ObscuredBox>& out);

  void forget_places() { lost_.clear(), last_look_.clear(); }

  /// Returns warnings about the last frames, each once.
  std::vector<Error> take_warnings() { return std::exchange(warnings_, {}); }
  /// Returns a warning for each listed class that no box had, if there were other boxes, unless
  /// take_warnings() had them: after a change of the lists it has them after some frames with
  /// boxes, because a live stream has no end.
  std::vector<Error> take_unused();

 private:
  std::vector<Error> unused() const;
  void take_lists(const OverlayProps& props);
  void check_changed_lists(bool boxes);
  Obscuring listed(const FrameBox& box);
  void add_missing(std::vector<ObscuredBox>& out);
  void warn_untracked(const OverlayProps& props, const FrameBox& box);
  void warn_standing();

  ClassList blur_, pixelate_;
  LostBoxes lost_;
  LastLook last_look_;
  std::set<GQuark> labels_;  // of the boxes so far
  std::vector<Error> warnings_;
  bool began_ = false;              // a frame has been there
  std::optional<int> frames_left_;  // with boxes, until changed lists are checked
  bool told_unused_ = false;        // of these lists
  int looks_without_id_ = 0;        // in a row, with an object that has no id
  bool warned_untracked_ = false, warned_standing_ = false;
};

}  // namespace keepbox
