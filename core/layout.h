// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition: which family a frame's tensors belong to, and where its fields lie in them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/detector.h"
#include "core/letterbox.h"
#include "core/result.h"
#include "core/rules.h"
#include "core/tensor.h"

namespace keepbox {

/// Where the channels of a field lie: element offset + anchor * anchor_stride +
/// channel * channel_stride + image * image_stride of tensors[tensor].
struct Field {
  int tensor = -1;
  size_t offset = 0, anchor_stride = 0, channel_stride = 0, image_stride = 0;

  bool present() const { return tensor >= 0; }
  size_t at(size_t image, size_t anchor, size_t channel = 0) const {
    return offset + image * image_stride + anchor * anchor_stride + channel * channel_stride;
  }
};

/// A family fitted to the tensors of one frame.
struct Layout {
  const DetectorSpec* spec = nullptr;
  uint32_t images = 1;
  uint32_t anchors = 0;
  uint32_t classes = 0;  // class scores an anchor, background included; 0 for ready rows
  uint32_t payload_count = 0;  // numbers of an anchor behind its class scores
  std::array<Field, kParts> fields;

  Field& operator[](Part part) { return fields[static_cast<size_t>(part)]; }
  const Field& operator[](Part part) const { return fields[static_cast<size_t>(part)]; }
};

/// What the caller knows before looking at the tensors.
struct Request {
  std::string_view detector = "auto";         // or a family's name
  std::string_view told{};  // family by the tensors' producer, for "auto" without tensor_ids; one that
                            // is not in the table counts for nothing
  std::span<const std::string> tensor_ids{};  // only these tensors, in the order of roles
  uint32_t label_count = 0;                   // classes that have labels; 0: none
  uint32_t class_count = 0;                   // of the model, whatever else says; 0: found out
  Size frame;                                 // of the picture that the tensors came with
};

struct Recognition {
  Layout layout;
  std::string remark;       // what was recognised and why, for one log line
  bool box_coding_open = false;  // YOLOX: decoded or not is for the data to say
  bool set = false;              // the family is as the caller said
};

/// Fits a family to the tensors by their ids, and where none says anything by their shapes.
/// Reads numbers only to leave families out of an error. Errors: kMismatch (nothing fits),
/// kAmbiguous (shapes alone do not decide, the hint names the property that does), kUnsupported.
Result<Recognition> recognise(std::span<const TensorView> tensors, const Request& request);

/// Fits one given family, whatever the ids say. How many of an anchor's numbers are class scores
/// where others follow them, `class_count` says, else the prototypes beside mask coefficients, else
/// the labels, else what models of COCO have.
Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request);

/// The same for the one tensor of a dense or ready family.
Result<Layout> fit_at(const DetectorSpec& spec, std::span<const TensorView> tensors, size_t index,
                      const Request& request);

/// Does the family have plain names, and are all of them among the tensors' ids?
bool has_plain_names(const DetectorSpec& spec, std::span<const TensorView> tensors);

/// Feature maps, as the prototypes 1xMxhxw of masks are: no anchors with channels.
bool is_maps(const Shape& shape);

/// M of the prototypes among some tensors, or 0.
size_t prototypes(std::span<const TensorView> tensors);

/// "yolov8-seg (1 class, 32 mask coefficients)"
std::string family_text(const Layout& layout);

/// "1 class", "2 classes"
std::string counted(size_t number, std::string_view what);

/// Cells of a pyramid of strides over an input: each level rounded up, summed.
uint32_t grid_cells(Size input, const DetectorSpec& spec);

/// The square input with that many anchors, or 0 x 0.
Size square_input(uint32_t anchors, const DetectorSpec& spec);

/// The square input that a known detector's tensor of this shape belongs to, or 0 x 0.
Size likely_input(const Shape& shape);

}  // namespace keepbox
