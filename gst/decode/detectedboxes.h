// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes boxes for a frame from the detections of a processor.
#pragma once

#include <gst/gst.h>

#include <span>
#include <vector>

#include "core/run/processor.h"
#include "gst/metas/framebox.h"
#include "gst/metas/masks.h"
#include "gst/tensors/labels.h"

namespace keepbox {

/// The boxes of a frame with their masks.
class DetectedBoxes {
 public:
  /// Replaces the boxes. Keypoints are owned by the processor until its next run.
  /// @param common values that all boxes have, such as the model.
  Status take(const Processor& processor, const Labels& labels, const FrameBox& common);
  void clear() { boxes_.clear(), weak_.clear(); }

  std::span<FrameBox> boxes() { return boxes_; }
  /// Returns the boxes that are for trackers only.
  std::span<FrameBox> weak() { return weak_; }

 private:
  void set_weak_apart(const Plan& plan);
  void take_payload(const Processor& processor);
  Status take_masks(const Processor& processor);
  void drop_empty_masks(std::span<const Mask> masks);

  std::vector<FrameBox> boxes_, weak_;
  MaskBuffers masks_;
};

}  // namespace keepbox
