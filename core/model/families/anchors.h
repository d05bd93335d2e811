// SPDX-License-Identifier: LGPL-2.1-or-later
// Families with known anchor sizes.
#pragma once

#include "core/model/families/split.h"

namespace keepbox::families {

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

}  // namespace keepbox::families
