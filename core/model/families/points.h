// SPDX-License-Identifier: LGPL-2.1-or-later
// Families with keypoints, heat maps, and FCOS.
#pragma once

#include "core/model/families/anchors.h"

namespace keepbox::families {

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
