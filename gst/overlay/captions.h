// SPDX-License-Identifier: LGPL-2.1-or-later
// Placement of captions.
#pragma once

#include <gst/gst.h>

#include <opencv2/core.hpp>
#include <optional>
#include <vector>

#include "gst/overlay/outline.h"

namespace keepbox {

enum class LabelPlacement { kApart, kAbove };
GType label_placement_type();

/// Finds places for the captions of a frame, box by box, best box first.
class CaptionPlacer {
 public:
  /// Starts a new frame.
  void start(cv::Size frame, int thickness, LabelPlacement placement);

  /// Returns a place inside the frame for the next box's caption: above the box, in it, below it or
  /// next to it. With kApart, it covers no caption placed earlier and as little as possible of
  /// their outlines; std::nullopt if there is no such place. A caption larger than the frame is
  /// cropped, an empty one takes no place. @pre the box is visible in the frame
  std::optional<cv::Rect> place(const Outline& box, cv::Size caption);

 private:
  void look_around(const cv::Rect& reach);
  bool taken(const cv::Rect& tab) const;
  double covered(const cv::Rect& tab, double limit) const;

  cv::Rect frame_;
  int thickness_ = 1;
  LabelPlacement placement_ = LabelPlacement::kApart;
  std::vector<cv::Rect> tabs_;  // of earlier boxes
  std::vector<Outline> outlines_;
  std::vector<cv::Rect> near_tabs_;  // of the box to place, as below
  std::vector<const Outline*> near_outlines_;
};

}  // namespace keepbox
