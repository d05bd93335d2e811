// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes that were found on a frame, from all of its images.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/formula/letterbox.h"
#include "core/run/processor.h"
#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/metas/pixelmap.h"
#include "gst/metas/records.h"
#include "gst/tensors/labels.h"

namespace keepbox {

// Maps boxes from the image of an object to the frame.

/// The image of an object among those of a model's tensors, and its place in the frame.
struct ObjectImage {
  guint od_id = 0;      // the object
  uint32_t image = 0;   // index in the tensors' first dimension
  Letterbox letterbox;  // from the frame to the image; for a turned image from a picture that
                        // shows what the image shows, upright and in the scale of the frame
  std::optional<PixelMap> turn;  // from that picture to the frame
};

/// Returns the image of a record; nothing if it has no area or a value is not finite.
/// @param input size of the model's input. @param picture size of the frame that the record is of.
/// @param frame size that boxes are mapped to.
std::optional<ObjectImage> object_image(const PictureRecord& record, Size input, Size picture,
                                        Size frame);

/// Maps a box of a turned image to the frame. It becomes an oriented box, or an upright one if axes
/// stay axes, which is clipped to the frame. @return false if it is outside of the frame.
bool turn_box(FrameBox& box, const PixelMap& turn, Size frame);

/// Returns a mask of a turned image in rows of the frame, in the mask's resolution, or in a lower
/// one if it would have more than 4 times as many pixels as the mask, and more than 65,536.
/// @param mask its place is before the turn. @param words memory of the result, which borrows it.
Mask turned_mask(const Mask& mask, const PixelMap& turn, Size frame, std::vector<uint32_t>& words);

// Makes boxes for a frame from the detections of a processor.

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
