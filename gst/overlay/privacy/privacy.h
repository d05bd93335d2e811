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
#include "gst/metas/framebox.h"
#include "gst/overlay/classlist.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/privacy/lostboxes.h"
#include "gst/overlay/privacy/obscure.h"

namespace keepbox {

/// Chooses objects by the lists of classes, and by what was obscured on earlier frames.
class Privacy {
 public:
  /// Replaces `out` by the boxes to obscure on the next frame; their masks are borrowed from
  /// `boxes`. @param time of the frame; GST_CLOCK_TIME_NONE: earlier frames do not count.
  void choose(std::span<const FrameBox> boxes, const OverlayProps& props, GstClockTime time,
              std::vector<ObscuredBox>& out);

  void forget_places() { lost_.clear(); }

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
  void warn_untracked(const OverlayProps& props, const FrameBox& box);

  ClassList blur_, pixelate_;
  LostBoxes lost_;
  std::set<GQuark> labels_;  // of the boxes so far
  std::vector<Error> warnings_;
  bool began_ = false;              // a frame has been there
  std::optional<int> frames_left_;  // with boxes, until changed lists are checked
  bool told_unused_ = false;        // of these lists
  bool warned_untracked_ = false;
};

}  // namespace keepbox
