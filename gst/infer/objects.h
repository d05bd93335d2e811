// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects of a frame whose cut-outs a model is run on.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/crops.h"
#include "gst/metas/boxes.h"
#include "gst/metas/records.h"

namespace keepbox {

inline constexpr unsigned kMaxObjects = 32;  // per frame, best scores first

/// Choice of objects.
struct ObjectRules {
  bool regions = false;              // regions and boxes of other elements only
  std::string model;                 // boxes of that model; empty: of all
  std::vector<std::string> classes;  // labels; empty: all but the dropped ones
  std::vector<std::string> dropped_classes;
  float min_size = 0;        // shorter side of the box in frame pixels
  float grow = 1;            // factor of the box's sides
  unsigned again_every = 1;  // frames between runs on one tracked object; 0: once
  float again_growth = 0;    // growth of a tracked object's area that is a reason to run; 0: none
  std::optional<AlignTemplate> align;
};

/// An object, and the part of the frame that shows it.
struct ObjectCrop {
  guint od_id = 0;
  Crop crop;
};

/// Chooses the objects of a stream's frames. For one thread.
class Objects {
 public:
  explicit Objects(ObjectRules rules = {}) : rules_(std::move(rules)) {}

  /// Returns the crops of a frame in ascending order of od_id. Regions get boxes first. @param plan
  /// of frames of its size.
  /// @param mode fits boxes into the input. Aligned crops ignore it.
  Result<std::vector<ObjectCrop>> of(GstBuffer* frame, const CropPlan& plan, ResizeMode mode);

  /// Leaves out all objects of a frame on which the model does not run. @param size of the frame
  Status leave_out(GstBuffer* frame, Size size);

  /// Returns the objects of the last frame that fit, but are not due, in ascending order of od_id.
  std::span<const guint> left_out() const { return left_out_; }

  /// Forgets the tracked objects, as for a new stream.
  void forget() { runs_.clear(); }

  /// Returns the number of frames without any analytics since the last one that had some.
  unsigned without_boxes() const { return without_boxes_; }

 private:
  bool fits(const FrameBox& box) const;
  bool is_due(const FrameBox& box);
  bool take(const FrameBox& box);
  std::optional<Crop> crop(const FrameBox& box, const CropPlan& plan, ResizeMode mode) const;
  void note(const FrameBox& box);
  void prune();

  ObjectRules rules_;
  /// The last run of the model on an object.
  struct LastRun {
    uint64_t frame = 0, seen = 0;  // numbers of its frame, and of the last one with the object
    float area = 0;                // of the box in square pixels
  };
  std::map<ObjectKey, LastRun> runs_;
  std::vector<guint> left_out_;
  uint64_t frame_ = 0;
  unsigned without_boxes_ = 0;
};

/// Returns the records of crops, in the order of their images. @param input size of the model's.
std::vector<PictureRecord> pictures_of(const std::vector<ObjectCrop>& crops, Size input);

}  // namespace keepbox
