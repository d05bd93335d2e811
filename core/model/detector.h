// SPDX-License-Identifier: LGPL-2.1-or-later
// Model families as data: where the boxes are in the output tensors, and how they are coded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/formula/contract.h"
#include "core/formula/conventions.h"
#include "core/model/exports.h"
#include "core/model/input_rule.h"
#include "core/model/keypoint_sets.h"
#include "core/model/shape_hint.h"
#include "core/model/tensor_rule.h"

namespace keepbox {

/// Arrangement of anchors and their values in the tensors.
enum class Reader : uint8_t {
  kDense,    // boxes and class scores of an anchor together: one tensor, or one per level
  kSplit,    // one tensor per role, or one per role and level
  kReady,    // one tensor of end-to-end rows: box, score, class
  kOutputs,  // end-to-end, one tensor each: boxes, scores, classes, count
  kIndices,  // rows of image, class and anchor, which index boxes and scores
};

/// Units of decoded box coordinates. kAuto is decided from the first tensor's values.
enum class Units : uint8_t { kAuto, kPixels, kNormalized };

enum class Background : uint8_t { kNone, kFirst, kLast };

/// Values after the class scores of an anchor.
enum class Payload : uint8_t { kNone, kAngle, kKeypoints, kMaskCoefficients, kEmbedding };

/// Keypoints of a family.
struct PointRule {
  PointCoding coding = PointCoding::kBox;
  uint8_t values = 0;      // per keypoint: 2, or 3 with its score; 0: detected
  bool yx = false;         // values are in the order y x
  std::string_view set{};  // name of a PointSet; empty: COCO's body if the number fits
};

/// First channel of each field in a dense or ready tensor; -1 if absent.
struct Columns {
  int8_t box = 0;
  int8_t objectness = -1;
  int8_t classes = -1;    // first class score; the scores end at the payload
  int8_t score = -1;      // ready rows: the score
  int8_t class_id = -1;   // ready rows: the class id
  int8_t image = -1;      // ready rows: index of the image in the batch; negative ends the rows
  int8_t payload = -1;    // if it does not follow the class scores
  int8_t angle = -1;      // ready rows: radians, if the payload is an angle
  bool box_last = false;  // the box follows the class scores
};

inline constexpr size_t kMaxLevels = 6;
/// Number of COCO's classes; its ids have gaps and go up to 90.
inline constexpr size_t kCocoClasses = 80;

/// Anchor boxes: listed, or generated from scales and ratios.
struct AnchorRule {
  std::span<const AnchorSize> sizes{};  // anchors per cell of all levels, level by level
  float input = 0;                      // input side that the sizes refer to; 0: sizes in pixels
  float base = 0;                       // otherwise: the side at scale 1 and ratio 1, in strides
  std::span<const float> scales{};
  std::span<const AnchorSize> ratios{};  // factors of width and height
  bool scales_inner = false;   // all scales of a ratio first; otherwise all ratios of a scale
  bool integer_sides = false;  // as torchvision: truncated sides, integer half sides and cell pitch
  bool of_grid = false;  // cells divide the input evenly, whatever the stride: TensorFlow's SSD
  bool clipped = false;  // sides are limited to those of the input

  bool given() const { return !sizes.empty() || base > 0; }
};

/// Describes a model family. Everything that differs between families is a field, so that a new
/// family is a row of the table or a file.
struct DetectorSpec {
  std::string_view name;     // value of `detector=`
  std::string_view summary;  // one sentence for the manual
  Reader reader = Reader::kDense;
  std::array<TensorRule, 6> tensors{};  // the first tensor_count are used
  uint8_t tensor_count = 1;
  Columns columns;

  BoxCoding coding = BoxCoding::kCenterSize;
  bool box_yx = false;  // values are in the order y x: cy cx h w, y1 x1 y2 x2, ty tx th tw
  Units units = Units::kAuto;
  std::array<float, 4> box_scale{1, 1, 1, 1};  // factors of the raw values, x first (variances)
  float cell_offset = 0;                       // added to a cell's column and row
  std::array<float, kMaxLevels> xy_scales{};   // kGridDarknet: scale of x y per level; 0: 1
  float delta_limit = 0;                       // kPriorDelta: maximum of w and h before e^; 0: none
  uint8_t bins = 1;                            // kDistanceBins: bins per side

  ScoreRule score = ScoreRule::kClass;
  Activation activation = Activation::kNone;
  Background background = Background::kNone;
  float logit_limit = 0;      // logits are clamped to +-logit_limit; 0: not clamped
  bool probabilities = true;  // scores are in 0..1 once activated
  bool multi_label = false;   // default: one box per class of an anchor that passes
  bool peaks = false;         // a score counts only if no adjacent cell has a higher one

  std::array<uint16_t, kMaxLevels> strides{};  // per level, input pixels; 0 ends the list
  uint8_t min_levels = 0;  // a model may lack the last levels down to this number; 0: it has all
  std::array<uint8_t, kMaxLevels> cell_anchors{1};  // per level; 0: as the level before
  bool interleaved = false;  // anchors of a cell are consecutive; otherwise each has its own grid
  AnchorRule anchors;
  bool priors = false;  // needs a table of prior boxes unless there is an anchor rule

  Payload payload = Payload::kNone;
  uint16_t payload_count = 0;  // values per anchor; those of the COCO model if models differ
  PointRule points;            // kKeypoints only

  NmsMethod nms = NmsMethod::kGreedy;            // kNone: the model needs no NMS
  std::string_view contract{};                   // default NMS contract
  float score_threshold = 0, iou_threshold = 0;  // defaults; 0: those of the settings
  bool by_shape = false;            // may be recognised by the shapes of several tensors
  ShapeHint shape;                  // evidence in a single tensor
  std::string_view decoded_twin{};  // family of the same tensors with decoded boxes; values decide
  uint16_t usual_classes = 0;       // recognised by shape only with this many classes; 0: any
  InputRule input;
  std::span<const Export> exports{};  // model files as known projects write them

  std::span<const TensorRule> rules() const { return {tensors.data(), tensor_count}; }
  size_t level_count() const;
  /// Returns the smallest number of levels of a model.
  size_t fewest_levels() const { return min_levels != 0 ? min_levels : level_count(); }
  /// Returns the number of scores per anchor that are of no class: 1 or 0.
  uint32_t background_count() const { return background != Background::kNone ? 1 : 0; }
  /// Returns the anchors per cell of a level.
  uint32_t anchors_of(size_t level) const;
};

/// Returns the rule whose scale applies to an integer tensor: the rule with its id, or with its
/// position in a non-empty tensor_ids, or the one without ids. nullptr if that rule has no scale.
const TensorRule* quantization_of(const DetectorSpec& spec, std::string_view id,
                                  std::span<const std::string> tensor_ids);

/// Returns the known families, in the order in which they are tried.
std::span<const DetectorSpec> detectors();

/// Returns the family of that name, or nullptr.
const DetectorSpec* find_detector(std::string_view name);

/// Returns the first family with a tensor of one of these ids, or nullptr.
const DetectorSpec* find_detector_by_ids(std::span<const std::string> ids);

}  // namespace keepbox
