// SPDX-License-Identifier: LGPL-2.1-or-later
// A box of the last analysed frame, kept to be moved with its object.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <vector>

#include "core/track/tracker.h"
#include "gst/metas/framebox.h"

namespace keepbox {

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

}  // namespace keepbox
