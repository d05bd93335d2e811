// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition: which family a frame's tensors belong to, and where its fields lie in them.
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

/// The nearest number of 32 bits.
inline uint32_t narrow(size_t value) {
  return static_cast<uint32_t>(std::min<size_t>(value, UINT32_MAX));
}

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

/// Anchors whose numbers lie in one piece each: all of a tensor's, a level's, or those of one of a
/// level's anchors a cell.
struct Segment {
  uint32_t first = 0, count = 0;  // anchors
  std::array<Field, kParts> fields;

  Field& operator[](Part part) { return fields[static_cast<size_t>(part)]; }
  const Field& operator[](Part part) const { return fields[static_cast<size_t>(part)]; }
  /// Of one of its anchors, counted from the first of all.
  size_t at(Part part, uint32_t image, uint32_t anchor, uint32_t channel = 0) const {
    return (*this)[part].at(image, anchor - first, channel);
  }
};

/// A grid of cells that tensors show: a level's, or that of one of a level's anchors.
struct Grid {
  uint32_t first = 0;   // anchor
  uint32_t level = 0;   // of the family's strides
  uint32_t anchor = 0;  // of a cell's: the only one, or the first of all
  uint32_t cell_anchors = 1;  // that follow each other
  uint32_t count = 0;   // of anchors
  Size cells;           // 0 x 0: not shown
};

/// A family fitted to the tensors of one frame.
struct Layout {
  const DetectorSpec* spec = nullptr;
  uint32_t images = 1;
  uint32_t anchors = 0;
  uint32_t classes = 0;  // class scores an anchor, background included; 0 for ready rows
  uint32_t payload_count = 0;  // numbers of an anchor behind its class scores
  uint32_t indexed = 0;        // anchors that rows of indices point to
  std::vector<Segment> segments = std::vector<Segment>(1);  // in the order of anchors
  std::vector<Grid> grids;     // of tensors that come level by level, the same

  /// Of the first segment.
  Field& operator[](Part part) { return segments.front()[part]; }
  const Field& operator[](Part part) const { return segments.front()[part]; }
};

/// What the caller knows before looking at the tensors.
struct Request {
  std::string_view detector = "auto";         // or a family's name
  const DetectorSpec* family = nullptr;       // in its place
  std::string_view told{};  // family by the tensors' producer, for "auto" without tensor_ids; one that
                            // is not in the table counts for nothing
  std::span<const std::string> tensor_ids{};  // only these tensors, in the order of roles
  uint32_t label_count = 0;                   // classes that have labels; 0: none
  uint32_t class_count = 0;                   // of the model, whatever else says; 0: found out
  bool has_priors = false;                    // a table of prior boxes is set
  Size frame;                                 // of the picture that the tensors came with
};

/// By what a family was recognised, the surest first.
enum class Basis : uint8_t {
  kSet,      // the caller's word
  kNamed,    // the producer's word, or ids or names of the tensors
  kNumbers,  // numbers that no other family writes, or several tensors that fit no other
  kShape,    // the shape of one tensor, which others may have as well
};

struct Recognition {
  Layout layout;
  std::string remark;       // what was recognised and why, for one log line
  bool box_coding_open = false;  // YOLOX: decoded or not is for the data to say
  Basis basis = Basis::kNamed;
  std::optional<Error> doubt;  // of what was recognised, for a warning
};

/// "channel-order=bgr input-mean=0 input-std=1 resize-mode=letterbox-topleft"; empty where nothing is
/// known.
std::string input_text(const InputRule& input);

/// Fits a family to the tensors by their ids, and where none says anything by their shapes.
/// Reads numbers only to leave families out of an error. Errors: kMismatch (nothing fits),
/// kAmbiguous (shapes alone do not decide, the hint names the property that does), kUnsupported.
Result<Recognition> recognise(std::span<const TensorView> tensors, const Request& request);

/// Fits one given family, whatever the ids say. Tensors are told apart by ids, then by shapes, and
/// where those are alike by their order in the family. How many of an anchor's numbers are class scores
/// where others follow them, `class_count` says, else the prototypes beside mask coefficients, else
/// the labels, else what models of COCO have.
Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request);

/// The same where boxes and scores are tables or feature maps, in a tensor each or all in one, for
/// all levels or for each; nothing when no tensors fit so.
std::optional<Layout> fit_sheets(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                 const Request& request);

/// The same for the one tensor of a dense or ready family.
Result<Layout> fit_at(const DetectorSpec& spec, std::span<const TensorView> tensors, size_t index,
                      const Request& request);

/// Does the family have plain names, and are all of them among the tensors' ids?
bool has_plain_names(const DetectorSpec& spec, std::span<const TensorView> tensors);

/// Feature maps, as the prototypes 1xMxhxw (or 1xhxwxM) of masks are: no anchors with channels.
bool is_maps(const Shape& shape);

/// True for one map 1x1xHxW, as text detectors and depth estimators write it: no anchors with channels.
bool is_plane(const Shape& shape);

/// M of the prototypes among some tensors, or 0.
size_t prototypes(std::span<const TensorView> tensors);

/// "yolov8-seg (1 class, 32 mask coefficients)"
std::string family_text(const Layout& layout);

/// "1 class", "2 classes"
std::string counted(size_t number, std::string_view what);

/// Numbers an anchor that a rule's tensor has; 0: any, as of scores.
size_t channels_of(const DetectorSpec& spec, const TensorRule& rule);

/// The same where the number of classes may be asked for.
size_t channels_of(const DetectorSpec& spec, const TensorRule& rule, const Request& request);

/// The least numbers an anchor of a family whose tensor holds all.
size_t least_channels(const DetectorSpec& spec);

/// Numbers of an anchor that are neither class scores nor a payload behind them, where one tensor
/// holds all.
size_t beside_classes(const DetectorSpec& spec);

/// How many of those `numbers` that are not beside_classes() follow the class scores.
std::optional<size_t> payload_of(const DetectorSpec& spec, size_t numbers,
                                 std::span<const TensorView> tensors, const Request& request);

/// Cells of a level over an input: what is left over counts as one.
Size level_cells(Size input, uint32_t stride);

/// Anchors of a pyramid over an input: each level's cells times their anchors, summed.
uint32_t grid_anchors(Size input, const DetectorSpec& spec);

/// The square input with that many anchors, or 0 x 0.
Size square_input(uint32_t anchors, const DetectorSpec& spec);

/// The square input that a known detector's tensor of this shape belongs to, or 0 x 0.
Size likely_input(const Shape& shape);

}  // namespace keepbox
