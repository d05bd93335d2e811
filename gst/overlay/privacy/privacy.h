// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the objects of a stream that are obscured.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/metas/framebox.h"
#include "gst/metas/skippedmodels.h"
#include "gst/overlay/classlist.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/privacy/lostboxes.h"
#include "gst/overlay/privacy/obscure.h"

namespace keepbox {

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
  int64_t looks_ = 0;               // frames with boxes that every model looked at
  bool tracked_ = false;            // a box had an id
  bool warned_untracked_ = false, warned_standing_ = false;
};

}  // namespace keepbox
