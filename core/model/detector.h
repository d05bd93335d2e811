// SPDX-License-Identifier: LGPL-2.1-or-later
// Description of a detector family: its tensors, their shapes, its coding, and its input.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/formula/conventions.h"
#include "core/formula/letterbox.h"
#include "core/model/contracts.h"

namespace keepbox {

// The input that models of a family or an export expect.

/// Conversion of a picture to the model input, for families whose training projects agree on it.
/// Values are R, G, B in 0..255: input = (pixel - mean) / deviation.
struct InputRule {
  std::array<float, 3> deviation{};  // 0: unknown
  std::array<float, 3> mean{};
  bool bgr = false;  // channel order B, G, R
  ResizeMode resize = ResizeMode::kLetterboxCenter;
  uint8_t pad = 114;          // pad value (grey)
  std::string_view caveat{};  // models of the family that need another input; empty: none known

  bool known() const { return deviation[0] > 0; }
};

// Tensors of a family: their roles, ids and names.

/// Role of a tensor.
enum class Role : uint8_t {
  kAll,         // kDense and kReady: all fields, at Columns
  kBoxes,       // four values per anchor, or 4 x bins
  kScores,      // one value per class; kOutputs: one
  kObjectness,  // one
  kSizes,       // w h if x y are in a tensor of their own (kBoxes)
  kClasses,     // a class id
  kCount,       // number of filled rows per image
  kIndices,     // image, class, anchor
  kKeypoints,   // keypoints that do not follow the scores or the box
  kUnread,      // present in the model, ignored
};

/// Describes one tensor of a family, or one per level.
struct TensorRule {
  Role role = Role::kAll;
  bool optional = false;
  std::array<std::string_view, 4> ids{};  // tensor ids given by producers, unused ones empty; * is
                                          // the stride of the level
  std::array<std::string_view, 2> plain{};  // generic names, used only if all match
  uint16_t channels = 0;  // values per anchor; 0: as the role implies, any number for scores
  float scale = 1, zero_point = 0;  // of integer tensors: value = (stored - zero_point) * scale

  /// True if the rule lists this id, for the level of that stride.
  bool has(std::string_view id, uint32_t stride = 0) const;
  bool has_plain(std::string_view name) const;
  bool has_scale() const { return scale != 1 || zero_point != 0; }
};

// Model files as known projects export them: how they are recognised, their input and outputs.

/// Project whose exporter writes metadata into model files.
enum class Exporter : uint8_t {
  kUnknown,
  kUltralytics,  // names, stride, task and more
  kYolov5,       // only names and stride: repositories of YOLOv5, YOLOv9 and derivatives
  kLibreYolo,    // names, task, the model's family and more
};

/// Properties of all exports of a project.
struct ExporterTraits {
  std::string_view why;       // how an export was recognised, for messages
  std::string_view contract;  // NMS contract of the project's own predictions; empty: unknown
  float iou_threshold = 0;    // of these predictions; 0: unknown
};

constexpr ExporterTraits traits_of(Exporter exporter) {
  switch (exporter) {
    case Exporter::kUltralytics: return {"Ultralytics metadata", "ultralytics", 0.7f};
    case Exporter::kYolov5: return {"YOLOv5 metadata", {}, 0};
    case Exporter::kLibreYolo: return {"LibreYOLO metadata", {}, 0};
    case Exporter::kUnknown: break;
  }
  return {};
}

/// Arrangement of boxes, scores and payload in an output of three dimensions.
enum class OutputForm : uint8_t { kPlanes, kRows, kEndToEnd };

/// An output that is recognised by its name, or by all other properties that are set.
struct ExportOutput {
  Role role = Role::kAll;  // of the family's tensor, whose first id the output gets
  std::string_view name{};
  uint8_t rank = 0;  // dimensions; 1: or none
  uint16_t columns = 0;
  bool integer = false;
};

/// An export of a family. It is recognised by an input, or by metadata and one output's form. Its
/// coordinates are in pixels unless those of the family are in 0..1.
struct Export {
  Exporter exporter = Exporter::kUnknown;  // of the metadata
  std::string_view task{};                 // of the metadata
  // The metadata has this class as the network's head (LibreYOLO: this family), or one of these
  // words, in lower case, in the description. Empty: neither matters, unless another export of the
  // task has them.
  std::string_view head{};
  std::array<std::string_view, 2> words{};
  OutputForm form = OutputForm::kPlanes;
  bool names_family = true;    // false: models of related families have such outputs too
  std::string_view maps_id{};  // id of the output with feature maps

  std::string_view size_input{};  // instead of metadata: an input that only this export has
  std::string_view why{};         // how it was recognised, for messages; empty: by its exporter
  std::array<ExportOutput, 3>
      outputs{};  // the more specific first; the first output_count are used
  uint8_t output_count = 0;
  std::string_view missing{};  // remark if the outputs are others
  InputRule input{};           // overrides the family's input if set
};

// Evidence by which a family is recognised without tensor ids or names.

/// Pattern in the values of a family's tensors.
enum class ValuePattern : uint8_t {
  kNone,            // nothing, or the values are not in host memory
  kGridOffsets,     // offsets from cells, logarithms of sizes, then probabilities: YOLOX as trained
  kCorners,         // x1 y1 x2 y2, a score, an integer: end-to-end rows
  kQueryRows,       // cx cy w h in 0..1, a score, an integer
  kOnes,            // boxes, a score that is always 1, probabilities: YOLOv6's objectness
  kQueries,         // cx cy w h in 0..1, then probabilities
  kCornerScores,    // x1 y1 x2 y2, then probabilities, as rows or planes
  kImageRows,       // the image, a box, a score and an integer in the family's columns
  kCountedOutputs,  // boxes in 0..1, scores, integer classes, their count: a tensor each
  kLabelledOutputs  // corners, scores, integer labels: a tensor each
};

/// Arrangement of a tensor of anchors x channels.
enum class TableForm : uint8_t { kNone, kRows, kPlanes, kAny };

/// Required number of anchors: that of a grid over some input, or any other.
enum class Cells : uint8_t { kAny, kGrid, kNoGrid };

/// Describes the tensor of a family with one tensor, or the tensor of the scores. Unset members are
/// not evaluated.
struct ShapeHint {
  bool listed = false;  // a candidate for every tensor that it fits, at least in error messages
  ValuePattern pattern = ValuePattern::kNone;
  Cells cells = Cells::kAny;                // required by all evidence but max_rows
  TableForm by_classes = TableForm::kNone;  // arrangements that the number of classes identifies
  TableForm by_grid = TableForm::kNone;     // arrangements that the number of anchors identifies
  uint16_t classes = 0;                     // of the published models
  uint16_t max_rows = 0;                    // maximum of end-to-end rows, not on a grid
  uint8_t rank = 0;                         // end-to-end rows: number of dimensions of their tensor
  bool prototypes = false;                  // maps in another tensor identify it
  TableForm scores = TableForm::kAny;       // required of scores in a tensor of their own
};

// Model families as data: where the boxes are in the output tensors, and how they are coded.

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
  float nms_sigma = 0.5f;                        // of gaussian methods
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

/// Returns the values per anchor in a rule's tensor; 0: any number, for scores.
size_t channels_of(const DetectorSpec& spec, const TensorRule& rule);

/// Returns the minimum values per anchor of a family with a single tensor.
size_t min_channels(const DetectorSpec& spec);

/// Returns the values per anchor other than class scores and the payload after them, for a family
/// with a single tensor.
size_t channels_besides_classes(const DetectorSpec& spec);

/// True if the payload after the class scores may have that many values.
bool may_be_payload(size_t values, Payload payload);

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
