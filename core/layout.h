// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition of the model family, and the location of its fields in the tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/detector.h"
#include "core/letterbox.h"
#include "core/result.h"
#include "core/rules.h"
#include "core/tensor.h"

namespace keepbox {

/// Converts to 32 bits, saturating.
inline uint32_t narrow(size_t value) {
  return static_cast<uint32_t>(std::min<size_t>(value, UINT32_MAX));
}

/// Location of a field's channels: element offset + anchor * anchor_stride + channel *
/// channel_stride + image * image_stride of tensors[tensor].
struct Field {
  int tensor = -1;
  size_t offset = 0, anchor_stride = 0, channel_stride = 0, image_stride = 0;

  bool present() const { return tensor >= 0; }
  size_t at(size_t image, size_t anchor, size_t channel = 0) const {
    return offset + image * image_stride + anchor * anchor_stride + channel * channel_stride;
  }
};

/// Anchors with the same strides: all of a tensor or of a level, or one anchor per cell of a level.
struct Segment {
  uint32_t first = 0, count = 0;  // anchors
  std::array<Field, kParts> fields;

  Field& operator[](Part part) { return fields[static_cast<size_t>(part)]; }
  const Field& operator[](Part part) const { return fields[static_cast<size_t>(part)]; }
  /// Returns the element index for an anchor of this segment, counted from the first of all
  /// anchors.
  size_t at(Part part, uint32_t image, uint32_t anchor, uint32_t channel = 0) const {
    return (*this)[part].at(image, anchor - first, channel);
  }
};

/// Grid of cells shown by the tensors: that of a level, or of one anchor per cell of a level.
struct Grid {
  uint32_t first = 0;   // anchor
  uint32_t level = 0;   // index in the family's strides
  uint32_t anchor = 0;  // index within the cell: of the only anchor, or of the first
  uint32_t cell_anchors = 1;  // consecutive anchors per cell
  uint32_t count = 0;   // number of anchors
  Size cells;           // 0 x 0: unknown
};

/// Describes how a family fits the tensors of one frame.
struct Layout {
  const DetectorSpec* spec = nullptr;
  uint32_t images = 1;
  uint32_t anchors = 0;
  uint32_t classes = 0;  // class scores per anchor, background included; 0 for ready rows
  uint32_t payload_count = 0;  // values per anchor after its class scores
  uint32_t indexed = 0;        // anchors that rows of indices refer to
  std::vector<Segment> segments = std::vector<Segment>(1);  // in the order of anchors
  std::vector<Grid> grids;     // of tensors with one level each, in the order of anchors

  /// Returns a field of the first segment.
  Field& operator[](Part part) { return segments.front()[part]; }
  const Field& operator[](Part part) const { return segments.front()[part]; }
};

/// Describes what is known before the tensors are inspected.
struct Request {
  std::string_view detector = "auto";         // or a family's name
  const DetectorSpec* family = nullptr;       // overrides detector
  std::string_view told{};  // family declared by the producer; used for "auto" without tensor_ids,
                            // ignored if it is not in the table
  std::span<const std::string> tensor_ids{};  // use only these, in the order of roles
  uint32_t label_count = 0;                   // classes in the label file; 0: none
  uint32_t class_count = 0;                   // of the model, overrides the others; 0: detected
  bool has_priors = false;                    // a table of prior boxes is set
  Size frame;                                 // size of the picture that the tensors belong to
};

/// Reason why a family was chosen, the most certain first.
enum class Basis : uint8_t {
  kSet,      // set by the caller
  kNamed,    // declared by the producer, or matched by tensor ids or names
  kNumbers,  // values that no other family has, or several tensors that fit no other family
  kShape,    // shape of one tensor, which other families may share
};

struct Recognition {
  Layout layout;
  std::string remark;       // what was recognised and why, as one log line
  bool box_coding_open = false;  // YOLOX: the values decide whether boxes are decoded
  Basis basis = Basis::kNamed;
  std::optional<Error> doubt;  // about what was recognised, for a warning
};

/// Returns "channel-order=bgr input-mean=0 input-std=1 resize-mode=letterbox-topleft"; empty if the
/// input is unknown.
std::string input_text(const InputRule& input);

/// Recognises the family by tensor ids, or by shapes if no id is known. Reads values only to leave
/// families out of an error message. Errors: kMismatch (nothing fits), kAmbiguous (shapes do not
/// decide; the hint names the property that does), kUnsupported.
Result<Recognition> recognise(std::span<const TensorView> tensors, const Request& request);

/// Fits a given family, whatever the ids. Tensors are matched by id, then by shape, and those of
/// equal shape by the family's order. If other values follow the class scores, the number of
/// classes is `class_count`, or follows from the prototypes of mask coefficients, the labels, or
/// the family's COCO models, in this order.
Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request);

/// Fits a family whose boxes and scores are tables or feature maps, in one tensor each or in one
/// tensor, for all levels or per level; nothing if it does not fit.
std::optional<Layout> fit_sheets(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                 const Request& request);

/// Fits a dense or ready family to its one tensor.
Result<Layout> fit_at(const DetectorSpec& spec, std::span<const TensorView> tensors, size_t index,
                      const Request& request);

/// True if the family has generic tensor names and all of them are among the ids.
bool has_plain_names(const DetectorSpec& spec, std::span<const TensorView> tensors);

/// True for feature maps such as mask prototypes 1xMxhxw (or 1xhxwxM), unlike anchors x channels.
bool is_maps(const Shape& shape);

/// True for one map 1x1xHxW, as written by text detectors and depth estimators.
bool is_plane(const Shape& shape);

/// Returns M of the prototypes among the tensors, or 0.
size_t prototypes(std::span<const TensorView> tensors);

/// Returns "yolov8-seg (1 class, 32 mask coefficients)".
std::string family_text(const Layout& layout);

/// Returns "1 class", "2 classes".
std::string counted(size_t number, std::string_view what);

/// Returns the values per anchor in a rule's tensor; 0: any number, for scores.
size_t channels_of(const DetectorSpec& spec, const TensorRule& rule);

/// Returns the values per anchor, with the number of classes of the request if it is set.
size_t channels_of(const DetectorSpec& spec, const TensorRule& rule, const Request& request);

/// Returns the minimum values per anchor of a family with a single tensor.
size_t least_channels(const DetectorSpec& spec);

/// Returns the values per anchor other than class scores and the payload after them, for a family
/// with a single tensor.
size_t beside_classes(const DetectorSpec& spec);

/// Returns how many of the `numbers` values besides beside_classes() are payload, after the scores.
std::optional<size_t> payload_of(const DetectorSpec& spec, size_t numbers,
                                 std::span<const TensorView> tensors, const Request& request);

/// Returns the cells of a level over an input, a partial cell counting as one.
Size level_cells(Size input, uint32_t stride);

/// Returns the number of anchors of a pyramid over an input.
uint32_t grid_anchors(Size input, const DetectorSpec& spec);

/// Returns the square input with that many anchors, or 0 x 0.
Size square_input(uint32_t anchors, const DetectorSpec& spec);

/// Returns the square input of a known detector with a tensor of this shape, or 0 x 0.
Size likely_input(const Shape& shape);

}  // namespace keepbox
