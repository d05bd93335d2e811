// SPDX-License-Identifier: LGPL-2.1-or-later
// What the producer of a tensor knows of it: the model, and where in its input the frame was. It is a
// meta on the tensor's data, so that it goes wherever the tensor goes.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>
#include <vector>

#include "core/detector.h"
#include "core/letterbox.h"

namespace keepbox {

inline constexpr size_t kMostLabels = size_t{1} << 16;  // that a file may have

struct TensorSource {
  uint64_t producer = 0;  // the element, by its number in this process; 0: nobody says
  Letterbox geometry;    // from the frame that went in to the model's input; sizes of 0: nobody says
  std::string model;     // its name; empty: nobody says
  std::string file;      // the model's, for messages; empty: nobody says
  std::string detector;  // a family of the table, or empty: to be recognised
  std::string contract;  // the framework whose boxes are expected, as nms-contract; empty: none
  float iou_threshold = 0;  // that framework's default; 0: none
  Units units = Units::kAuto;  // of box coordinates
  std::vector<std::string> labels;  // by class; empty: nobody says
  bool lost_geometry = false;  // the frame was flipped or turned since: boxes cannot be placed
  bool open_rows = false;  // the model leaves the number of rows open: it is no evidence
  bool held = false;  // the tensor is an earlier frame's, held for this one

  bool has_geometry() const {
    return geometry.frame.width != 0 && geometry.frame.height != 0 && geometry.model.width != 0 &&
           geometry.model.height != 0;
  }
  friend bool operator==(const TensorSource&, const TensorSource&);
};

using SharedTensorSource = std::shared_ptr<const TensorSource>;

/// Are they equal, or both nullptr?
bool same_source(const SharedTensorSource& a, const SharedTensorSource& b);

/// Can what decodes the one decode the other? They are the same but for the element, where in the
/// model's input the frame was, and which frame's it is.
bool same_producer(const SharedTensorSource& a, const SharedTensorSource& b);

/// Are they of one element? Where nobody says the element, as same_producer().
bool same_element(const SharedTensorSource& a, const SharedTensorSource& b);

/// A number that no other producer of this process has.
uint64_t new_producer();

/// Says where a tensor is from, in place of what was said. @param data writable metas.
void set_tensor_source(GstBuffer* data, SharedTensorSource source);

/// What was said, or nullptr. @param data may be nullptr.
SharedTensorSource tensor_source(GstBuffer* data);

}  // namespace keepbox
