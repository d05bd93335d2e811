// SPDX-License-Identifier: LGPL-2.1-or-later
// Facts about a tensor from its producer: the model, and the position of the frame in its
// input. A meta on the tensor's data, so that it goes wherever the tensor goes.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/formula/letterbox.h"
#include "core/model/detector.h"
#include "core/plan/tiles.h"

namespace keepbox {

inline constexpr size_t kMaxLabels = size_t{1} << 16;  // limit per file

struct TensorProvenance {
  uint64_t producer = 0;    // number of the element in this process; 0 if unknown
  Letterbox geometry;       // from the input frame to the model's input; sizes are 0 if unknown
  std::vector<Tile> tiles;  // of that frame, one per image of the tensors; empty if there are none
  std::string model;        // its name; empty if unknown
  std::string file;         // the model's, for messages; empty if unknown
  std::string detector;     // a family of the table; empty: to be recognised
  std::string contract;     // the framework to reproduce, as nms-contract; empty if none
  float iou_threshold = 0;  // default of that framework; 0 if none
  Units units = Units::kAuto;       // units of box coordinates
  std::vector<std::string> labels;  // by class; empty if unknown
  /// Labels of the classes of one of several tensors, by its id.
  std::map<std::string, std::vector<std::string>> labels_of;
  bool lost_geometry = false;  // the frame was flipped or rotated since; boxes cannot be placed
  bool dynamic_rows = false;   // the number of rows is dynamic, and thus no evidence
  bool held = false;           // the tensor is held from an earlier frame
  bool objects = false;        // each image shows an object of the frame (picturerecords.h)

  bool has_geometry() const {
    return geometry.frame.width != 0 && geometry.frame.height != 0 && geometry.model.width != 0 &&
           geometry.model.height != 0;
  }
  friend bool operator==(const TensorProvenance&, const TensorProvenance&);
};

using SharedProvenance = std::shared_ptr<const TensorProvenance>;

/// Maps a tensor's source to another frame.
using MovedProvenance = std::function<SharedProvenance(const SharedProvenance&)>;

/// True if they are equal or both nullptr.
bool same_source(const SharedProvenance& a, const SharedProvenance& b);

/// True if what decodes one can decode the other: they differ at most in element, frame, and
/// position of the frame in the input.
bool same_producer(const SharedProvenance& a, const SharedProvenance& b);

/// True if they are of one element. If the element is unknown, same as same_producer().
bool same_element(const SharedProvenance& a, const SharedProvenance& b);

/// Returns a number that no other producer of this process has.
uint64_t new_producer();

/// Sets where a tensor is from. @param data writable metas.
void set_provenance(GstBuffer* data, SharedProvenance source);

/// Returns the source, or nullptr. @param data may be nullptr.
SharedProvenance provenance_of(GstBuffer* data);

}  // namespace keepbox
