// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions that each change one property of a family.
#pragma once

#include <array>
#include <string_view>

#include "core/model/detector.h"

namespace keepbox::families {

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

}  // namespace keepbox::families
