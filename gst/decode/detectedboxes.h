// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes boxes for a frame from the detections of a processor.
#pragma once

#include <gst/gst.h>

#include <deque>
#include <span>
#include <vector>

#include "core/run/processor.h"
#include "gst/decode/objectimage.h"
#include "gst/metas/framebox.h"
#include "gst/metas/masks.h"
#include "gst/tensors/labels.h"

namespace keepbox {

/// The boxes of a frame with their masks.
class DetectedBoxes {
 public:
  /// Adds the boxes of the processor's last run, which owns their keypoints and values until its
  /// next run. @param number of the frame in the run. @param common values that all boxes have,
  /// such as the model. @param dropped is increased by the number of boxes with empty masks that
  /// the contract drops.
  Status add(const Processor& processor, uint32_t number, const Labels& labels,
             const FrameBox& common, Funnel& dropped);

  /// Adds the boxes of an object's image as its parts. Keypoints and values are copied.
  /// @param frame size that boxes are on. @param dropped is increased as by add(), and by the
  /// number of boxes outside of the frame and of those that plan().part_regions do not admit.
  Status add_parts(const Processor& processor, const Labels& labels, const FrameBox& common,
                   const ObjectImage& of, Size frame, Funnel& dropped);

  /// Adds boxes that outlive this frame's.
  void add(std::span<const FrameBox> boxes) {
    boxes_.insert(boxes_.end(), boxes.begin(), boxes.end());
  }

  /// Drops the boxes with the lowest scores until the others need at most `room` mtds. @param
  /// classes see AttachOptions. @return true if any was dropped; the others are then sorted by
  /// score.
  bool keep_best(gsize room, bool classes);

  void clear();

  std::span<FrameBox> boxes() { return boxes_; }
  /// Returns the boxes that are for trackers only.
  std::span<FrameBox> weak() { return weak_; }

 private:
  /// A box and its mask, if it has one.
  struct Found {
    FrameBox box;
    Mask mask{};
  };
  static std::vector<Found> found_by(const Processor& processor, uint32_t number,
                                     const Labels& labels, const FrameBox& common, Funnel& dropped);
  void place(std::vector<Found>& found, const Plan& plan, const ObjectImage& of, Size frame,
             Funnel& dropped);
  void copy_payload(FrameBox& box, const ObjectImage& of);
  Status take(std::vector<Found>& found, const Plan& plan);

  std::vector<FrameBox> boxes_, weak_;
  std::vector<MaskBuffers> masks_;
  size_t mask_count_ = 0;
  // Payload of parts:
  std::deque<std::vector<Keypoint>> keypoints_;
  std::deque<std::vector<float>> values_;
  std::deque<std::vector<uint32_t>> turned_;  // masks, until take()
};

}  // namespace keepbox
