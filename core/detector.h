// SPDX-License-Identifier: LGPL-2.1-or-later
// A model family as data: how its output tensors say where the boxes are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/contract.h"

namespace keepbox {

/// How anchors and their numbers lie in the tensors.
enum class Reader : uint8_t {
  kDense,    // one tensor, anchors x channels or channels x anchors: boxes and class scores
  kReady,    // one tensor of rows that the model sorted out: box, score, class
  kSplit,    // boxes and class scores in two tensors
  kOutputs,  // boxes, scores, classes (and a count) in one tensor each
  kHeads,    // raw feature maps, one or more tensors a level
  kHeatmap,  // peaks of a class map
};

/// What the four (or 4 x bins) numbers of a box mean.
enum class BoxCoding : uint8_t {
  kCenterSize,     // cx cy w h
  kCorners,        // x1 y1 x2 y2
  kCornersYX,      // y1 x1 y2 x2
  kGridExp,        // ((cx + cell + offset) * stride, e^w * stride)           YOLOX, YuNet
  kPriorDelta,     // (cy cx by prior size, e^ of h w) in the order ty tx th tw      SSD
  kPriorDeltaXY,   // the same in the order tx ty tw th      RetinaFace, torchvision SSD
  kGridSigmoid,    // ((2s + cell - 0.5) * stride, (2s)^2 * anchor)       YOLOv5 raw heads
  kGridDarknet,    // ((s + cell) * stride, e^w * anchor)                 YOLOv3 raw heads
  kDistances,      // left top right bottom from the cell's centre, in strides      SCRFD
  kDistanceBins,   // the same as softmax over bins (DFL)                         NanoDet
  kCenterOffset,   // offset of a peak and a size in cells                      CenterNet
};

enum class Activation : uint8_t { kNone, kSigmoid, kSoftmax };

/// How the score of (anchor, class) comes out of objectness o and class score c.
enum class ScoreRule : uint8_t {
  kClass,           // c of the best class
  kProduct,         // o * c, then the best class                  YOLOv3, v5, v7
  kArgmaxFirst,     // best c, then o * c                          YOLOX
  kObjectness,      // o alone (one class)                         YOLOv7 with one class
  kGeometricMean,   // sqrt(o * c)                                 YuNet
};

/// Units of decoded box coordinates. kAuto is decided by looking at the first tensor.
enum class Units : uint8_t { kAuto, kPixels, kNormalized };

enum class Background : uint8_t { kNone, kFirst, kLast };

/// What follows the class scores of an anchor.
enum class Payload : uint8_t { kNone, kAngle, kKeypoints, kMaskCoefficients };

/// What one of a frame's tensors is for.
enum class Role : uint8_t {
  kAll, kBoxes, kScores, kObjectness, kClasses, kCount, kSizes, kOffsets, kKeypoints, kProtos,
};

/// One tensor of a family.
struct TensorRule {
  Role role = Role::kAll;
  bool optional = false;
  std::array<std::string_view, 4> ids{};  // names that producers give it, empty ones unused
  std::string_view plain{};  // what models call it that others may mean too: it counts only where all
                             // of a family's plain names are there

  bool has(std::string_view id) const {
    return !id.empty() && std::ranges::find(ids, id) != ids.end();
  }
};

/// First channel of each field in a dense or ready tensor; -1 where it has none.
struct Columns {
  int8_t box = 0;
  int8_t objectness = -1;
  int8_t classes = -1;   // class scores run from here to the payload
  int8_t score = -1;     // ready rows: one score
  int8_t class_id = -1;  // ready rows: one class id
  bool box_last = false;  // the box follows the class scores
};

struct AnchorSize {
  float width, height;  // input pixels
};

/// A model family. Everything that differs between families is a field here, so that a new
/// family is a new row of the table.
struct DetectorSpec {
  std::string_view name;     // as `detector=` takes it
  std::string_view summary;  // a sentence for the manual
  Reader reader = Reader::kDense;
  std::array<TensorRule, 6> tensors{};  // roles that occur; kHeads has one of each a level
  uint8_t tensor_count = 1;
  Columns columns;

  BoxCoding coding = BoxCoding::kCenterSize;
  Units units = Units::kAuto;
  std::array<float, 4> box_scale{1, 1, 1, 1};  // the raw numbers times this (SSD's variances)
  float cell_offset = 0;   // added to a cell's index to reach its centre
  uint8_t bins = 1;        // kDistanceBins: bins a side

  ScoreRule score = ScoreRule::kClass;
  Activation activation = Activation::kNone;
  Background background = Background::kNone;
  float logit_limit = 0;   // logits are clamped to +- this first; 0: they are not
  bool probabilities = true;  // scores are in 0..1, activated

  std::array<uint16_t, 5> strides{};      // of the levels, input pixels; 0 ends the list
  uint8_t anchors_per_cell = 1;
  std::span<const AnchorSize> anchors{};  // anchors_per_cell for each level
  bool priors = false;                    // needs a table of prior boxes

  Payload payload = Payload::kNone;
  uint16_t payload_count = 0;  // numbers an anchor, of models of COCO where models differ

  NmsMethod nms = NmsMethod::kGreedy;  // kNone: the model did it
  bool by_shape = false;               // may be recognised without a tensor id

  std::span<const TensorRule> rules() const { return {tensors.data(), tensor_count}; }
};

/// The families that can be read, in the order in which they are tried.
std::span<const DetectorSpec> detectors();

/// The family of that name, or nullptr.
const DetectorSpec* find_detector(std::string_view name);

}  // namespace keepbox
