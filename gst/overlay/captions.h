// SPDX-License-Identifier: LGPL-2.1-or-later
// Where captions stand.
#pragma once

#include <gst/gst.h>

#include <opencv2/core.hpp>
#include <optional>
#include <vector>

#include "gst/overlay/outline.h"

namespace keepbox {

enum class LabelPlacement { kApart, kAbove };
GType label_placement_type();

/// Finds places for the captions of a frame, one box after the other, the best box first.
class CaptionPlacer {
 public:
  /// Forgets the frame before.
  void start(cv::Size frame, int thickness, LabelPlacement placement);

  /// A place inside the frame for the next box's caption: above the box, in it, below it or at its
  /// sides. Apart, it covers no caption of a box before, and as little as it can of their outlines;
  /// nothing when every place covers one. A caption larger than the frame is cut, an empty one
  /// takes no place.
  /// @pre the box is seen in the frame
  std::optional<cv::Rect> place(const Outline& box, cv::Size caption);

 private:
  bool taken(const cv::Rect& tab) const;
  double covered(const cv::Rect& tab, double limit) const;

  cv::Rect frame_;
  int thickness_ = 1;
  LabelPlacement placement_ = LabelPlacement::kApart;
  std::vector<cv::Rect> tabs_;  // of the boxes before
  std::vector<Outline> outlines_;
};

}  // namespace keepbox
