// SPDX-License-Identifier: LGPL-2.1-or-later
// A model family as data: how its output tensors say where the boxes are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/contract.h"
#include "core/letterbox.h"
#include "core/points.h"

namespace keepbox {

/// How anchors and their numbers lie in the tensors.
enum class Reader : uint8_t {
  kDense,    // boxes and class scores of an anchor side by side: one tensor, or one a level
  kSplit,    // a tensor for each role, or one a level for each role
  kReady,    // one tensor of rows that the model sorted out: box, score, class
  kOutputs,  // the same in one tensor each: boxes, scores, classes, their count
  kIndices,  // rows of image, class, anchor, which point into boxes and scores
};

/// What the four (or 4 x bins) numbers of a box mean. Of those with cells, a level's stride and the
/// cell's column and row, with cell_offset added, say where they are.
enum class BoxCoding : uint8_t {
  kCenterSize,     // cx cy w h
  kCorners,        // x1 y1 x2 y2
  kTopLeftSize,    // x1 y1 w h
  kGridExp,        // ((cx + cell) * stride, e^w * stride)               YOLOX, YuNet, CenterFace
  kGridSize,       // ((cx + cell) * stride, w * stride)                             CenterNet
  kGridPixels,     // (cx + cell * stride, w)                                        MediaPipe
  kGridSigmoid,    // s of all four; ((2s - 0.5 + cell) * stride, (2s)^2 * anchor)      YOLOv5
  kGridDarknet,    // s of cx cy; ((s * xy - (xy - 1) / 2 + cell) * stride, e^w * anchor)
                   //                                                                YOLOv3, v4
  kDistances,      // left top right bottom from the cell, in strides       SCRFD, YOLOv6, FCOS
  kDistanceBins,   // the same, each as the mean of softmax over its bins        YOLOv8, GFL
  kPriorDelta,     // (cx cy by prior size, e^ of w h)                         SSD, RetinaNet
};

enum class Activation : uint8_t { kNone, kSigmoid, kSoftmax };

/// How the score of (anchor, class) comes out of objectness o and class score c.
enum class ScoreRule : uint8_t {
  kClass,           // c of the best class
  kProduct,         // o * c, then the best class                  YOLOv3, v5, v7
  kArgmaxFirst,     // best c, then o * c                          YOLOX
  kObjectness,      // o alone where there is one class, else as kProduct               YOLOv7
  kGeometricMean,   // sqrt(o * c), each clamped to 0..1           YuNet, FCOS
};

/// Units of decoded box coordinates. kAuto is decided by looking at the first tensor.
enum class Units : uint8_t { kAuto, kPixels, kNormalized };

enum class Background : uint8_t { kNone, kFirst, kLast };

/// What follows the class scores of an anchor.
enum class Payload : uint8_t { kNone, kAngle, kKeypoints, kMaskCoefficients };

/// What the first two numbers x y of a point mean. Cells, strides and priors are those of boxes.
enum class PointCoding : uint8_t {
  kBox,         // as a box's corners: pixels, or 0..1
  kCells,       // (xy + cell) * stride                                     SCRFD, YuNet
  kCellPixels,  // xy + cell * stride                                       MediaPipe
  kPriorDelta,  // by the prior's size, from its centre                     RetinaFace
  kInBox,       // from the box's upper left corner, in its width and height      CenterFace
};

/// The points of a family whose payload they are.
struct PointRule {
  PointCoding coding = PointCoding::kBox;
  uint8_t numbers = 0;       // of a point: 2, or 3 with its score; 0: found out
  bool yx = false;           // their order is y x
  std::string_view set{};    // name of a PointSet; empty: COCO's body, if as many
};

/// What one of a frame's tensors is for.
enum class Role : uint8_t {
  kAll,         // of kDense and kReady: columns say what is where
  kBoxes,       // four numbers an anchor, or 4 x bins
  kScores,      // one a class; of kOutputs one
  kObjectness,  // one
  kSizes,       // the last two of the four where the first two have a tensor of their own (kBoxes)
  kClasses,     // a class id
  kCount,       // how many rows of an image are filled
  kIndices,     // image, class, anchor
  kKeypoints,   // points, where they do not follow the scores or the box
  kUnread,      // what nobody needs, but told apart from scores
};

/// One tensor of a family, or one a level.
struct TensorRule {
  Role role = Role::kAll;
  bool optional = false;
  std::array<std::string_view, 4> ids{};  // names that producers give it, empty ones unused; a * in
                                          // one is the level's stride
  std::array<std::string_view, 2> plain{};  // what models call it that others may mean too: they count
                                            // only where all of a family's tensors have such names
  uint16_t channels = 0;   // numbers an anchor; 0: those of its role, of scores any
  float scale = 1, zero_point = 0;  // of integers: number = (stored - zero_point) * scale

  /// Is the tensor of that level's stride called so?
  bool has(std::string_view id, uint32_t stride = 0) const;
  bool has_plain(std::string_view name) const;
  bool has_scale() const { return scale != 1 || zero_point != 0; }
};

/// First channel of each field in a dense or ready tensor; -1 where it has none.
struct Columns {
  int8_t box = 0;
  int8_t objectness = -1;
  int8_t classes = -1;   // class scores run from here to the payload
  int8_t score = -1;     // ready rows: one score
  int8_t class_id = -1;  // ready rows: one class id
  int8_t image = -1;     // ready rows: the image of a batch; below zero ends them
  int8_t payload = -1;   // where it does not follow the class scores
  int8_t angle = -1;     // ready rows: radians, where the payload is an angle
  bool box_last = false;  // the box follows the class scores
};

struct AnchorSize {
  float width, height;  // input pixels
};

inline constexpr size_t kMostLevels = 6;
/// Of COCO, whose ids leave some numbers out: 90 at most.
inline constexpr size_t kCocoClasses = 80;

/// Anchor boxes: listed, or made of scales and ratios.
struct AnchorRule {
  std::span<const AnchorSize> sizes{};   // of all levels' anchors of a cell, level by level
  float input = 0;                       // the input's side that those are of; 0: they are pixels of
                                         // any input
  float base = 0;                        // else: a side of scale 1 and ratio 1, in strides
  std::span<const float> scales{};
  std::span<const AnchorSize> ratios{};  // factors of width and height
  bool scales_inner = false;  // all scales of a ratio follow each other, not all ratios of a scale
  bool whole = false;         // as torchvision: scaled sides cut, half sides rounded to pixels, and
                              // cells as far apart as whole pixels let them share the input
  bool of_grid = false;       // cells share the input evenly, whatever the stride   TensorFlow's SSD

  bool given() const { return !sizes.empty() || base > 0; }
};

/// How a picture becomes the input of a family's models, where the projects that train them agree.
/// Numbers are those of R, G, B in 0..255: input = (pixel - mean) / deviation.
struct InputRule {
  std::array<float, 3> deviation{};  // 0: nothing is known
  std::array<float, 3> mean{};
  bool bgr = false;  // channels in the order B, G, R
  ResizeMode resize = ResizeMode::kLetterboxCenter;
  uint8_t pad = 114;  // grey of what the picture does not cover
  std::string_view caveat{};  // which models of the family want another input; empty: none known

  bool known() const { return deviation[0] > 0; }
};

/// A model family. Everything that differs between families is a field here, so that a new
/// family is a new row of the table, or a file.
struct DetectorSpec {
  std::string_view name;     // as `detector=` takes it
  std::string_view summary;  // a sentence for the manual
  Reader reader = Reader::kDense;
  std::array<TensorRule, 6> tensors{};  // roles that occur
  uint8_t tensor_count = 1;
  Columns columns;

  BoxCoding coding = BoxCoding::kCenterSize;
  bool box_yx = false;    // the numbers' order is y x: cy cx h w, y1 x1 y2 x2, ty tx th tw
  Units units = Units::kAuto;
  std::array<float, 4> box_scale{1, 1, 1, 1};  // the raw numbers, x first, times this (variances)
  float cell_offset = 0;   // added to a cell's column and row
  std::array<float, kMostLevels> xy_scales{};  // kGridDarknet: xy of each level; 0: 1
  float delta_limit = 0;   // kPriorDelta: w and h are at most so much before e^; 0: no limit
  uint8_t bins = 1;        // kDistanceBins: bins a side

  ScoreRule score = ScoreRule::kClass;
  Activation activation = Activation::kNone;
  Background background = Background::kNone;
  float logit_limit = 0;   // logits are clamped to +- this first; 0: they are not
  bool probabilities = true;  // scores are in 0..1, activated
  bool multi_label = false;   // a box for each class of an anchor that passes, if nothing else is set
  bool peaks = false;         // scores count where none of the eight cells around has a better one

  std::array<uint16_t, kMostLevels> strides{};  // of the levels, input pixels; 0 ends the list
  std::array<uint8_t, kMostLevels> cell_anchors{1};  // of each level; 0: as of the one before
  bool interleaved = false;  // anchors of a cell follow each other; else each has a grid of its own
  AnchorRule anchors;
  bool priors = false;       // needs a table of prior boxes, if there is no anchor rule

  Payload payload = Payload::kNone;
  uint16_t payload_count = 0;  // numbers an anchor, of models of COCO where models differ
  PointRule points;            // kKeypoints only

  NmsMethod nms = NmsMethod::kGreedy;  // kNone: the model did it
  std::string_view contract{};         // of suppression, if nothing else is set
  float score_threshold = 0, iou_threshold = 0;  // the same; 0: those of the settings
  bool by_shape = false;               // may be recognised without a tensor id
  uint16_t usual_classes = 0;          // recognised so with this many class scores alone; 0: any
  InputRule input;

  std::span<const TensorRule> rules() const { return {tensors.data(), tensor_count}; }
  size_t level_count() const;
  /// Anchors of a cell of a level.
  uint32_t anchors_of(size_t level) const;
};

/// By whose scale a tensor of integers is read: the rule that it is named by, or of its place among
/// tensor_ids where there are some, else one without names. nullptr where that rule has no scale.
const TensorRule* quantization_of(const DetectorSpec& spec, std::string_view id,
                                  std::span<const std::string> tensor_ids);

/// The families that can be read, in the order in which they are tried.
std::span<const DetectorSpec> detectors();

/// The family of that name, or nullptr.
const DetectorSpec* find_detector(std::string_view name);

}  // namespace keepbox
