// SPDX-License-Identifier: LGPL-2.1-or-later
// Locations of a family's fields in the tensors of a frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/letterbox.h"
#include "core/formula/rules.h"
#include "core/model/detector.h"

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
  friend bool operator==(const Field&, const Field&) = default;
};

/// Anchors with the same strides: all of a tensor or of a level, or one anchor per cell of a level.
struct Segment {
  uint32_t first = 0, count = 0;  // anchors
  std::array<Field, kFieldCount> fields;

  Field& operator[](FieldId id) { return fields[static_cast<size_t>(id)]; }
  const Field& operator[](FieldId id) const { return fields[static_cast<size_t>(id)]; }
  /// Returns the element index for an anchor of this segment, counted from the first of all
  /// anchors.
  size_t at(FieldId id, uint32_t image, uint32_t anchor, uint32_t channel = 0) const {
    return (*this)[id].at(image, anchor - first, channel);
  }
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Grid of cells shown by the tensors: that of a level, or of one anchor per cell of a level.
struct Grid {
  uint32_t first = 0;         // anchor
  uint32_t level = 0;         // index in the family's strides
  uint32_t anchor = 0;        // index within the cell: of the only anchor, or of the first
  uint32_t cell_anchors = 1;  // consecutive anchors per cell
  uint32_t count = 0;         // number of anchors
  Size cells;                 // 0 x 0: unknown
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// Describes how a family fits the tensors of one frame.
struct Layout {
  const DetectorSpec* spec = nullptr;
  uint32_t images = 1;
  uint32_t anchors = 0;
  uint32_t classes = 0;        // class scores per anchor, background included; 0 for ready rows
  uint32_t payload_count = 0;  // values per anchor after its class scores
  uint32_t indexed = 0;        // anchors that rows of indices refer to
  uint32_t levels = 0;         // the first levels of the family, which the model has
  std::vector<Segment> segments = std::vector<Segment>(1);  // in the order of anchors
  std::vector<Grid> grids;   // of tensors with one level each, in the order of anchors
  std::vector<int> ignored;  // tensors that the family has but does not read

  /// Returns a field of the first segment.
  Field& operator[](FieldId id) { return segments.front()[id]; }
  const Field& operator[](FieldId id) const { return segments.front()[id]; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Describes what is known before the tensors are inspected.
struct Request {
  std::string_view detector = "auto";    // or a family's name
  const DetectorSpec* family = nullptr;  // overrides detector
  std::string_view declared{};           // family declared by the producer; used for "auto" without
                                         // tensor_ids; ignored if it is not in the table
  std::span<const std::string> tensor_ids{};  // use only these, in the order of roles
  uint32_t label_count = 0;                   // classes in the label file; 0: none
  uint32_t num_classes = 0;                   // of the model, overrides the others; 0: detected
  bool has_priors = false;                    // a table of prior boxes is set
  bool dynamic_rows = false;  // the number of rows is dynamic, and evidence only if it is
                              // that of all cells
  Size frame;                 // size of the picture that the tensors belong to
};

}  // namespace keepbox
