// SPDX-License-Identifier: LGPL-2.1-or-later
// YOLO families, and changes of a row that several families share.
#pragma once

#include <array>
#include <string_view>

#include "core/model/detector.h"

namespace keepbox::families {

// Functions that each change one property of a family.

using Ids = std::array<std::string_view, 4>;
using Plain = std::array<std::string_view, 2>;
using Strides = std::array<uint16_t, kMaxLevels>;
using CellAnchors = std::array<uint8_t, kMaxLevels>;

inline constexpr Strides kStrides3{8, 16, 32}, kStrides4{8, 16, 32, 64},
    kStrides5{8, 16, 32, 64, 128};

using Rgb = std::array<float, 3>;

// ImageNet's mean and standard deviation of R, G, B, times 255.
inline constexpr Rgb kImageNetMean{123.675f, 116.28f, 103.53f},
    kImageNetDeviation{58.395f, 57.12f, 57.375f};
inline constexpr Rgb k255{255, 255, 255}, kOne{1, 1, 1}, k128{127.5f, 127.5f, 127.5f};

/// Ultralytics and the repositories before it: R, G, B in 0..1, centred with a grey border.
inline constexpr InputRule kYoloInput{.deviation = k255};
/// Exports that share their tensors and not their input.
inline constexpr InputRule kCornersInput{
    .deviation = k255,
    .caveat =
        "LibreYOLO pads with letterbox-topleft; its RTMDet and PicoDet need input-mean= and "
        "input-std="};
/// YOLOX: B, G, R in 0..255 at the top left with a grey border.
inline constexpr InputRule kYoloxInput{
    .deviation = kOne, .bgr = true, .resize = ResizeMode::kLetterboxTopLeft};
/// R, G, B in 0..1, stretched.
inline constexpr InputRule kStretchedInput{.deviation = k255, .resize = ResizeMode::kStretch};
/// R, G, B normalised with ImageNet's mean and deviation, stretched.
inline constexpr InputRule kImageNetInput{
    .deviation = kImageNetDeviation, .mean = kImageNetMean, .resize = ResizeMode::kStretch};
/// Darknet, whose programs and OpenCV's samples resize differently.
inline constexpr InputRule kDarknetInput{
    .deviation = k255, .caveat = "OpenCV and newer Darknet versions need resize-mode=stretch"};
/// TensorFlow's SSDs: stretched. Files have uint8 inputs, or MobileNet's.
inline constexpr InputRule kSsdInput{
    .deviation = k255,
    .resize = ResizeMode::kStretch,
    .caveat = "TensorFlow's MobileNets need input-mean=127.5 input-std=127.5"};
/// MediaPipe: R, G, B in -1..1 or in 0..1, centred with a black border.
inline constexpr InputRule kMediapipeInput{.deviation = k128, .mean = k128, .pad = 0};
inline constexpr InputRule kMediapipeUnitInput{.deviation = k255, .pad = 0};

constexpr DetectorSpec with_input(DetectorSpec spec, const InputRule& input) {
  spec.input = input;
  return spec;
}

constexpr DetectorSpec with_prior_table(DetectorSpec spec) {
  spec.priors = true;
  return spec;
}

constexpr DetectorSpec recognised_by_shape(DetectorSpec spec) {
  spec.by_shape = true;
  return spec;
}

constexpr DetectorSpec with_shape_hint(DetectorSpec spec, const ShapeHint& shape) {
  spec.shape = shape;
  return spec;
}

constexpr DetectorSpec with_decoded_twin(DetectorSpec spec, std::string_view name) {
  spec.decoded_twin = name;
  return spec;
}

/// Allows recognition by shape with the number of classes of the published models.
constexpr DetectorSpec with_usual_classes(DetectorSpec spec, uint16_t classes) {
  spec.usual_classes = classes;
  return recognised_by_shape(spec);
}

constexpr DetectorSpec with_units(DetectorSpec spec, Units units) {
  spec.units = units;
  return spec;
}

constexpr DetectorSpec with_payload(DetectorSpec spec, Payload payload, uint16_t count) {
  spec.payload = payload;
  spec.payload_count = count;
  return spec;
}

constexpr DetectorSpec with_nms(DetectorSpec spec, std::string_view contract) {
  spec.nms = NmsMethod::kGreedy;
  spec.contract = contract;
  return spec;
}

constexpr DetectorSpec with_xy_scales(DetectorSpec spec, std::array<float, kMaxLevels> scales) {
  spec.xy_scales = scales;
  return spec;
}

constexpr DetectorSpec with_multi_label(DetectorSpec spec) {
  spec.multi_label = true;
  return spec;
}

constexpr DetectorSpec with_strides(DetectorSpec spec, Strides strides,
                                    std::array<uint8_t, kMaxLevels> anchors = {1}) {
  spec.strides = strides;
  spec.cell_anchors = anchors;
  return spec;
}

constexpr DetectorSpec with_thresholds(DetectorSpec spec, float score, float iou) {
  spec.score_threshold = score;
  spec.iou_threshold = iou;
  return spec;
}

constexpr DetectorSpec with_tensor(DetectorSpec spec, TensorRule rule) {
  spec.tensors[spec.tensor_count++] = rule;
  return spec;
}

// YOLO families: rows, planes, and raw heads.

inline constexpr AnchorSize kYolov3Anchors[]{{10, 13},  {16, 30},  {33, 23},   {30, 61},  {62, 45},
                                             {59, 119}, {116, 90}, {156, 198}, {373, 326}};
inline constexpr AnchorSize kYolov3TinyAnchors[]{{10, 14}, {23, 27},   {37, 58},
                                                 {81, 82}, {135, 169}, {344, 319}};
inline constexpr AnchorSize kYolov4Anchors[]{{12, 16},  {19, 36},   {40, 28},   {36, 75},  {76, 55},
                                             {72, 146}, {142, 110}, {192, 243}, {459, 401}};

constexpr DetectorSpec objectness_rows(std::string_view name, std::string_view summary,
                                       uint8_t anchors) {
  return {.name = name,
          .summary = summary,
          .columns = {.objectness = 4, .classes = 5},
          .score = ScoreRule::kProduct,
          .strides = kStrides3,
          .cell_anchors = {anchors},
          .input = kYoloInput};
}

constexpr DetectorSpec one_class_by_objectness(DetectorSpec spec) {
  spec.score = ScoreRule::kObjectness;
  return spec;
}

/// Feature maps of raw heads, one per level.
constexpr DetectorSpec anchored_heads(std::string_view name, std::string_view summary,
                                      BoxCoding coding, std::span<const AnchorSize> anchors,
                                      Strides strides = kStrides3) {
  DetectorSpec spec = objectness_rows(name, summary, 3);
  spec.coding = coding;
  spec.activation = Activation::kSigmoid;
  spec.strides = strides;
  spec.anchors.sizes = anchors;
  return spec;
}

constexpr DetectorSpec yolox(std::string_view name, std::string_view summary, BoxCoding coding) {
  DetectorSpec spec = objectness_rows(name, summary, 1);
  spec.tensors[0].ids = {"yolox-out"};
  spec.coding = coding;
  spec.score = ScoreRule::kArgmaxFirst;
  return with_input(spec, kYoloxInput);
}

constexpr DetectorSpec class_planes(std::string_view name, std::string_view summary, Ids ids = {}) {
  return {.name = name,
          .summary = summary,
          .tensors = {{{.ids = ids}}},
          .columns = {.classes = 4},
          .strides = kStrides3,
          .input = kYoloInput};
}

/// Corners instead of centres and sizes.
constexpr DetectorSpec corner_planes(std::string_view name, std::string_view summary, Ids ids) {
  DetectorSpec spec = class_planes(name, summary, ids);
  spec.coding = BoxCoding::kCorners;
  spec.strides = {};
  spec.input = kCornersInput;
  return with_shape_hint(spec, {.pattern = ValuePattern::kCornerScores});
}

/// Oriented boxes, with the angle last.
constexpr DetectorSpec oriented_planes(std::string_view name, std::string_view summary,
                                       Ids ids = {}) {
  DetectorSpec spec = with_payload(class_planes(name, summary, ids), Payload::kAngle, 1);
  spec.contract = "ultralytics-obb";
  return spec;
}

/// Distances from cell centres as softmax over bins.
constexpr DetectorSpec binned(DetectorSpec spec, uint8_t bins, float cell_offset) {
  spec.coding = BoxCoding::kDistanceBins;
  spec.bins = bins;
  spec.cell_offset = cell_offset;
  return spec;
}

constexpr DetectorSpec binned_heads(std::string_view name, std::string_view summary) {
  DetectorSpec spec = binned(class_planes(name, summary), 16, 0.5f);
  spec.columns.classes = 64;
  spec.activation = Activation::kSigmoid;
  return spec;
}

constexpr DetectorSpec normalized_rows(std::string_view name, std::string_view summary) {
  DetectorSpec spec = with_units(class_planes(name, summary), Units::kNormalized);
  spec.strides = {};
  spec.nms = NmsMethod::kNone;
  return with_input(spec, kStretchedInput);
}

// Families with boxes and scores in separate tensors.

constexpr DetectorSpec split(std::string_view name, std::string_view summary, TensorRule boxes,
                             TensorRule scores, BoxCoding coding) {
  boxes.role = Role::kBoxes;
  scores.role = Role::kScores;
  return {.name = name,
          .summary = summary,
          .reader = Reader::kSplit,
          .tensors = {{boxes, scores}},
          .tensor_count = 2,
          .columns = {.classes = 0},
          .coding = coding};
}

/// Raw heads with boxes in a separate tensor, or in one per level.
constexpr DetectorSpec split_heads(std::string_view name, std::string_view summary,
                                   Activation activation) {
  DetectorSpec spec = with_strides(
      binned(split(name, summary, {}, {}, BoxCoding::kDistanceBins), 16, 0.5f), kStrides3);
  spec.activation = activation;
  return with_input(spec, kYoloInput);
}

/// Queries: no NMS, and a box may have several classes.
constexpr DetectorSpec queries(std::string_view name, std::string_view summary, Plain boxes,
                               Plain scores) {
  DetectorSpec spec =
      split(name, summary, {.plain = boxes}, {.plain = scores}, BoxCoding::kCenterSize);
  spec.units = Units::kNormalized;
  spec.activation = Activation::kSigmoid;
  spec.multi_label = true;
  spec.nms = NmsMethod::kNone;
  return with_input(spec, kStretchedInput);
}

constexpr DetectorSpec detr(DetectorSpec spec) {
  spec.activation = Activation::kSoftmax;
  spec.background = Background::kLast;
  spec.multi_label = false;
  return with_input(spec, kImageNetInput);
}

/// Distributions over eight bins, and scores, per level.
constexpr DetectorSpec eight_bins(std::string_view name, std::string_view summary) {
  return recognised_by_shape(
      binned(split(name, summary, {}, {}, BoxCoding::kDistanceBins), 8, 0.5f));
}

constexpr DetectorSpec picodet() {
  DetectorSpec spec = with_multi_label(
      with_strides(eight_bins("picodet",
                              "PicoDet before its post-processing: scores, and left top right "
                              "bottom as softmax over bins, one tensor each per level"),
                   kStrides4));
  spec.min_levels = 3;
  return with_input(spec, kImageNetInput);
}

constexpr DetectorSpec nanodet() {
  DetectorSpec spec = with_thresholds(
      with_strides(
          eight_bins("nanodet", "NanoDet before NanoDet-Plus: tensors as PicoDet's, three levels"),
          kStrides3),
      0.4f, 0.3f);
  return with_input(spec, {.deviation = kImageNetDeviation,
                           .mean = kImageNetMean,
                           .bgr = true,
                           .resize = ResizeMode::kLetterboxCenter,
                           .pad = 0});
}

/// UltraFace, whose scores of background and face have a softmax.
constexpr DetectorSpec ultraface(DetectorSpec spec) {
  spec.tensors[1].channels = 2;
  spec.background = Background::kFirst;
  spec.units = Units::kNormalized;
  return with_input(
      with_thresholds(recognised_by_shape(spec), 0.7f, 0.3f),
      {.deviation = {128, 128, 128}, .mean = {127, 127, 127}, .resize = ResizeMode::kStretch});
}

constexpr DetectorSpec nanodet_plus() {
  DetectorSpec spec = binned(class_planes("nanodet-plus",
                                          "NanoDet-Plus: rows of class scores, then left top right "
                                          "bottom as softmax over bins"),
                             8, 0);
  spec.columns = {.classes = 0, .box_last = true};
  spec.strides = kStrides4;
  spec.min_levels = 3;
  InputRule input = kImageNetInput;
  input.bgr = true;
  return with_input(spec, input);
}

}  // namespace keepbox::families
