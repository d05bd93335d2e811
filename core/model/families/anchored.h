// SPDX-License-Identifier: LGPL-2.1-or-later
// Families with anchors, priors or points per cell.
#pragma once

#include "core/model/families/yolo.h"

namespace keepbox::families {

// Families with known anchor sizes.

inline constexpr float kOctaveScales[]{1, 1.2599210498948732f, 1.5874010519681994f};
inline constexpr AnchorSize kRatios[]{{1, 1}, {1.4f, 0.7f}, {0.7f, 1.4f}};
inline constexpr AnchorSize kSquareRatios[]{{1.4142135623730951f, 0.70710678118654752f},
                                            {1, 1},
                                            {0.70710678118654752f, 1.4142135623730951f}};
inline constexpr AnchorSize kRetinaFaceAnchors[]{{16, 16},   {32, 32},   {64, 64},
                                                 {128, 128}, {256, 256}, {512, 512}};
inline constexpr AnchorSize kPlateAnchors[]{{24, 24},   {48, 48},   {96, 96},
                                            {192, 192}, {384, 384}, {768, 768}};
inline constexpr AnchorSize kUltraFaceAnchors[]{{10, 10},   {16, 16},  {24, 24}, {32, 32},
                                                {48, 48},   {64, 64},  {96, 96}, {128, 128},
                                                {192, 192}, {256, 256}};
// Anchors of a 300x300 input: scales 0.2 + (0.95 - 0.2) k / 5, multiplied by square roots of
// ratios, and the geometric means of adjacent scales.
constexpr double root(double x) {
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 64; ++i) y = (y + x / y) / 2;
  return y;
}

constexpr AnchorSize anchor_of_ratio(double side, double ratio) {
  return {static_cast<float>(side * root(ratio)), static_cast<float>(side / root(ratio))};
}

constexpr std::array<AnchorSize, 33> tensorflow_anchors() {
  std::array<AnchorSize, 33> out{};
  size_t n = 0;
  out[n++] = anchor_of_ratio(0.1 * 300, 1);
  out[n++] = anchor_of_ratio(0.2 * 300, 2);
  out[n++] = anchor_of_ratio(0.2 * 300, 0.5);
  for (int k = 1; k < 6; ++k) {
    const double side = (0.2 + 0.15 * k) * 300, next = k == 5 ? 300 : (0.35 + 0.15 * k) * 300;
    for (const double ratio : {1.0, 2.0, 0.5, 3.0, 1 / 3.0})
      out[n++] = anchor_of_ratio(side, ratio);
    out[n++] = anchor_of_ratio(root(side * next), 1);
  }
  return out;
}
inline constexpr auto kTensorflowAnchors = tensorflow_anchors();

constexpr std::array<AnchorSize, 30> ssd300_anchors() {
  constexpr double kSides[]{21, 45, 99, 153, 207, 261, 315};  // of 300 pixels
  constexpr int kRatiosOf[]{1, 2, 2, 2, 1, 1};
  std::array<AnchorSize, 30> out{};
  size_t n = 0;
  for (int k = 0; k < 6; ++k) {
    out[n++] = anchor_of_ratio(kSides[k], 1);
    out[n++] = anchor_of_ratio(root(kSides[k] * kSides[k + 1]), 1);
    for (int ratio = 2; ratio < 2 + kRatiosOf[k]; ++ratio) {
      out[n++] = anchor_of_ratio(kSides[k], ratio);
      out[n++] = anchor_of_ratio(kSides[k], 1.0 / ratio);
    }
  }
  return out;
}
inline constexpr auto kSsd300Anchors = ssd300_anchors();

constexpr std::array<AnchorSize, 36> ssdlite_anchors() {
  std::array<AnchorSize, 36> out{};
  size_t n = 0;
  for (int k = 0; k < 6; ++k) {
    const double side = (0.2 + 0.15 * k) * 320, next = k == 5 ? 320 : (0.35 + 0.15 * k) * 320;
    out[n++] = anchor_of_ratio(side, 1);
    out[n++] = anchor_of_ratio(root(side * next), 1);
    for (const double ratio : {2.0, 3.0}) {
      out[n++] = anchor_of_ratio(side, ratio);
      out[n++] = anchor_of_ratio(side, 1 / ratio);
    }
  }
  return out;
}
inline constexpr auto kSsdliteAnchors = ssdlite_anchors();

constexpr DetectorSpec ssd(std::string_view name, std::string_view summary, Activation activation,
                           bool box_yx) {
  DetectorSpec spec = split(name, summary, {}, {}, BoxCoding::kPriorDelta);
  spec.box_yx = box_yx;
  spec.units = Units::kNormalized;
  spec.box_scale = {0.1f, 0.1f, 0.2f, 0.2f};
  spec.activation = activation;
  spec.background = Background::kFirst;
  spec.cell_offset = 0.5f;
  spec.interleaved = true;
  return spec;
}

constexpr DetectorSpec with_anchors(DetectorSpec spec, AnchorRule anchors, Strides strides,
                                    std::array<uint8_t, kMaxLevels> each) {
  spec.anchors = anchors;
  spec.interleaved = true;
  return with_strides(spec, strides, each);
}

constexpr DetectorSpec ultraface_raw() {
  return ultraface(with_anchors(
      ssd("ultraface-raw",
          "UltraFace before its post-processing: deltas tx ty tw th, scores of background and face",
          Activation::kNone, false),
      {.sizes = kUltraFaceAnchors, .clipped = true}, kStrides4, {3, 2, 2, 3}));
}

inline constexpr float kTorchvisionDeltaLimit = 4.135166556742356f;  // log(1000 / 16)

/// Limits the growth of sides, as torchvision does.
constexpr DetectorSpec with_delta_limit(DetectorSpec spec) {
  spec.delta_limit = kTorchvisionDeltaLimit;
  return spec;
}

constexpr DetectorSpec retinanet() {
  DetectorSpec spec = with_anchors(
      split("retinanet",
            "RetinaNet of torchvision before its post-processing: deltas tx ty tw th and class "
            "logits, in one tensor each or one per level",
            {.plain = {"bbox_regression"}}, {.plain = {"cls_logits"}}, BoxCoding::kPriorDelta),
      {.base = 4,
       .scales = kOctaveScales,
       .ratios = kSquareRatios,
       .scales_inner = true,
       .integer_sides = true},
      kStrides5, {9});
  // torchvision's ratio is height / width, 0.5 first.
  spec.units = Units::kNormalized;
  spec.activation = Activation::kSigmoid;
  return with_delta_limit(with_multi_label(spec));
}

constexpr DetectorSpec efficientdet() {
  DetectorSpec spec = with_anchors(
      split("efficientdet",
            "EfficientDet before its post-processing: deltas ty tx th tw and class logits, in one "
            "tensor each or one per level",
            {}, {}, BoxCoding::kPriorDelta),
      {.base = 4, .scales = kOctaveScales, .ratios = kRatios}, kStrides5, {9});
  spec.box_yx = true;
  spec.units = Units::kNormalized;
  spec.cell_offset = 0.5f;
  spec.activation = Activation::kSigmoid;
  spec.input = {.deviation = kImageNetDeviation,
                .mean = kImageNetMean,
                .resize = ResizeMode::kLetterboxTopLeft,
                .pad = 0};
  return with_multi_label(spec);
}

// Families with keypoints, heat maps, and FCOS.

/// Adds keypoints after scores or boxes.
constexpr DetectorSpec with_points(DetectorSpec spec, uint16_t count, PointRule rule) {
  spec.payload = Payload::kKeypoints;
  spec.payload_count = count;
  spec.points = rule;
  return spec;
}

inline constexpr PointRule kFace{.values = 2, .set = "face-landmarks/5"},
    kFaceScores{.values = 3, .set = "face-landmarks/5"};

/// Adds five face landmarks in separate tensors.
constexpr DetectorSpec with_landmarks(DetectorSpec spec, PointCoding coding, Ids ids = {},
                                      Plain plain = {}) {
  spec = with_points(spec, 10, {.coding = coding, .values = 2, .set = "face-landmarks/5"});
  return with_tensor(
      spec,
      {.role = Role::kKeypoints, .optional = true, .ids = ids, .plain = plain, .channels = 10});
}

constexpr DetectorSpec scrfd() {
  DetectorSpec spec = with_strides(
      split("scrfd",
            "SCRFD: scores, distances left top right bottom and five points, one tensor each per "
            "level",
            {.ids = {"bbox_*"}}, {.ids = {"score_*"}, .channels = 1}, BoxCoding::kDistances),
      kStrides3, {2});
  spec.interleaved = true;
  spec.input = {.deviation = {128, 128, 128},
                .mean = k128,
                .resize = ResizeMode::kLetterboxTopLeft,
                .pad = 0};
  return with_landmarks(spec, PointCoding::kCells, {"kps_*"});
}

constexpr DetectorSpec retinaface(std::string_view name, std::string_view summary,
                                  Activation activation) {
  DetectorSpec spec = ssd(name, summary, activation, false);
  spec.tensors[0].plain = {"loc"};
  spec.tensors[1].plain = {"conf"};
  spec.tensors[1].channels = 2;
  spec.input = {.deviation = kOne,
                .mean = {123, 117, 104},
                .bgr = true,
                .resize = ResizeMode::kLetterboxTopLeft,
                .pad = 0};
  return with_landmarks(with_anchors(spec, {.sizes = kRetinaFaceAnchors}, kStrides3, {2}),
                        PointCoding::kPriorDelta, {}, {"landms"});
}

/// RetinaFace for license plates, with four corners instead of five points.
constexpr DetectorSpec retinaface_plates() {
  DetectorSpec spec = with_points(
      retinaface("retinaface-plates",
                 "RetinaFace for license plates: deltas tx ty tw th, scores of background and "
                 "plate, four corners",
                 Activation::kNone),
      8, {.coding = PointCoding::kPriorDelta, .values = 2});
  spec.anchors.sizes = kPlateAnchors;
  spec.tensors[2].optional = false;
  spec.tensors[2].channels = 8;
  spec.input.resize = ResizeMode::kLetterboxCenter;
  return with_thresholds(spec, 0.6f, 0.4f);
}

constexpr DetectorSpec yunet() {
  DetectorSpec spec = with_strides(
      split("yunet",
            "YuNet (OpenCV's FaceDetectorYN): class, objectness, box and five points, one tensor "
            "each per level",
            {.ids = {"bbox_*"}}, {.ids = {"cls_*"}, .channels = 1}, BoxCoding::kGridExp),
      kStrides3);
  spec.score = ScoreRule::kGeometricMean;
  spec.input = {.deviation = kOne, .bgr = true, .resize = ResizeMode::kLetterboxTopLeft, .pad = 0};
  spec = with_tensor(spec, {.role = Role::kObjectness, .ids = {"obj_*"}, .channels = 1});
  return with_landmarks(spec, PointCoding::kCells, {"kps_*"});
}

/// Boxes in input pixels relative to cells, followed by keypoints.
constexpr DetectorSpec mediapipe(std::string_view name, std::string_view summary, uint16_t channels,
                                 std::string_view set, Strides strides,
                                 std::array<uint8_t, kMaxLevels> anchors,
                                 float score_threshold = 0.5f,
                                 const InputRule& input = kMediapipeInput) {
  DetectorSpec spec = with_strides(split(name, summary, {.ids = {}, .channels = channels},
                                         {.ids = {}, .channels = 1}, BoxCoding::kGridPixels),
                                   strides, anchors);
  spec.cell_offset = 0.5f;
  spec.interleaved = true;
  spec.activation = Activation::kSigmoid;
  spec.logit_limit = 100;
  spec = with_points(spec, static_cast<uint16_t>(channels - 4),
                     {.coding = PointCoding::kCellPixels, .values = 2, .set = set});
  spec.contract = "mediapipe";
  spec.score_threshold = score_threshold;
  spec.iou_threshold = 0.3f;
  return with_input(spec, input);
}

/// Scores, sizes and offsets per cell, one map each.
constexpr DetectorSpec heatmap(std::string_view name, std::string_view summary, BoxCoding coding,
                               TensorRule sizes, TensorRule offsets, TensorRule scores) {
  sizes.role = Role::kSizes;
  offsets.role = Role::kBoxes;
  scores.role = Role::kScores;
  return {.name = name,
          .summary = summary,
          .reader = Reader::kSplit,
          .tensors = {{scores, sizes, offsets}},
          .tensor_count = 3,
          .columns = {.classes = 0},
          .coding = coding,
          .strides = {4}};
}

constexpr DetectorSpec centerface() {
  DetectorSpec spec =
      heatmap("centerface", "CenterFace: maps of scores, sizes, offsets and five points",
              BoxCoding::kGridExp, {.channels = 2}, {.channels = 2}, {.channels = 1});
  spec.box_yx = true;
  spec.cell_offset = 0.5f;
  spec = with_landmarks(spec, PointCoding::kInBox);
  spec.points.yx = true;
  return with_input(spec, {.deviation = kOne, .resize = ResizeMode::kStretch});
}

constexpr DetectorSpec centernet() {
  DetectorSpec spec = heatmap(
      "centernet", "CenterNet: maps of class logits, sizes and offsets; peaks count, no NMS",
      BoxCoding::kGridSize, {.plain = {"wh"}, .channels = 2}, {.plain = {"reg"}, .channels = 2},
      {.plain = {"hm"}});
  spec.activation = Activation::kSigmoid;
  spec.peaks = true;
  spec.nms = NmsMethod::kNone;
  spec.input = {.deviation = {69.87f, 71.145f, 73.695f},
                .mean = {119.85f, 113.985f, 104.04f},
                .bgr = true,
                .pad = 0};
  return with_multi_label(spec);
}

constexpr DetectorSpec fcos() {
  DetectorSpec spec = with_strides(
      split("fcos",
            "FCOS of torchvision before its post-processing: class logits, centerness and "
            "distances in strides, in one tensor each or one per level",
            {.plain = {"bbox_regression"}}, {.plain = {"cls_logits"}}, BoxCoding::kDistances),
      kStrides5);
  spec.score = ScoreRule::kGeometricMean;
  spec.activation = Activation::kSigmoid;
  spec.anchors.integer_sides = true;
  return with_multi_label(
      with_tensor(spec, {.role = Role::kObjectness, .plain = {"bbox_ctrness"}, .channels = 1}));
}

}  // namespace keepbox::families
