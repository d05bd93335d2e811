// SPDX-License-Identifier: LGPL-2.1-or-later
// YOLO families: rows, planes, and raw heads.
#pragma once

#include "core/model/families/changes.h"

namespace keepbox::families {

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

}  // namespace keepbox::families
