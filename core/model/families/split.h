// SPDX-License-Identifier: LGPL-2.1-or-later
// Families with boxes and scores in separate tensors.
#pragma once

#include "core/model/families/yolo.h"

namespace keepbox::families {

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
