// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs with feature maps, levels, anchors, multiple labels and quantised values.
#include <cmath>
#include <cstring>
#include <memory>

#include "core/recognition/maps.h"
#include "tests/parity/makers.h"
#include "tests/parity/values.h"

namespace keepbox::test {
namespace {

Size cells(uint32_t stride) { return level_cells({kWidth, kHeight}, stride); }

enum class Form { kMaps, kPixels, kStacked, kRows };

/// Returns the shape of a level's tensor with `channels` per anchor and `anchors` per cell.
Shape level_shape(uint32_t stride, size_t anchors, size_t channels, Form form) {
  const Size size = cells(stride);
  const size_t w = size.width, h = size.height;
  switch (form) {
    case Form::kMaps: return {1, anchors * channels, h, w};
    case Form::kPixels: return {1, h, w, anchors * channels};
    case Form::kStacked: return {1, anchors, h, w, channels};
    default: return {1, h * w * anchors, channels};
  }
}

/// Raw heads of YOLOv3, v4, v5 and v7; sometimes with one class.
Input raw_heads(Random& random) {
  const char* names[] = {"yolov5-heads", "yolov3-heads", "yolov4-heads", "yolov7-heads"};
  Input input = head_input(names[pick(random, 0, 3)], 0.2f);
  const Form forms[] = {Form::kMaps, Form::kPixels, Form::kStacked};
  const Form form = forms[pick(random, 0, 2)];
  const size_t classes = pick(random, 0, 2) == 0 ? 1 : 7;
  for (const uint32_t stride : {8, 16, 32})
    input.tensors.push_back(
        random_numbers(random, level_shape(stride, 3, 5 + classes, form), {-3, 2}));
  return input;
}

/// Bins, in one or two tensors per level.
Input bins(Random& random) {
  const char* names[] = {"yolov8-heads", "yolov8-heads-split", "yolov8-rknn", "picodet"};
  const int which = pick(random, 0, 3);
  Input input = head_input(names[which]);
  const Form form = which == 3 ? Form::kRows : pick(random, 0, 1) ? Form::kMaps : Form::kPixels;
  const Span scores = which >= 2 ? kScores : kLogits;
  for (const uint32_t stride : {8, 16, 32, 64}) {
    if (stride == 64 && which != 3) continue;
    const size_t side = which == 3 ? 32 : 64;
    if (which == 0)
      input.tensors.push_back(
          random_numbers(random, level_shape(stride, 1, 64 + 6, form), kLogits));
    if (which == 0) continue;
    input.tensors.push_back(random_numbers(random, level_shape(stride, 1, side, form), kLogits));
    input.tensors.push_back(random_numbers(random, level_shape(stride, 1, 6, form), scores));
  }
  return input;
}

size_t all_cells(std::initializer_list<uint32_t> strides) {
  size_t out = 0;
  for (const uint32_t stride : strides) out += size_t{cells(stride).width} * cells(stride).height;
  return out;
}

/// Boxes after the scores.
Input box_last(Random& random) {
  Input input = head_input("nanodet-plus");
  input.tensors.push_back(
      random_numbers(random, {1, all_cells({8, 16, 32, 64}), 6 + 32}, {0, 0.5f}));
  return input;
}

/// Distances and scores of two anchors per cell; the mean of two scores.
Input faces(Random& random) {
  const int which = pick(random, 0, 3);
  const char* names[] = {"scrfd", "yunet", "retinaface", "retinaface-logits"};
  Input input = head_input(names[which]);
  if (which >= 2) {
    const size_t anchors = 2 * all_cells({8, 16, 32});
    input.tensors = {random_numbers(random, {1, anchors, 4}, kDeltas),
                     random_numbers(random, {1, anchors, 2}, which == 2 ? kScores : Span{-40, 40})};
    return input;
  }
  for (const uint32_t stride : {8, 16, 32})
    input.tensors.push_back(random_numbers(
        random, level_shape(stride, 2 - size_t(which), 1, Form::kRows), {-0.2f, 1.1f}));
  for (const uint32_t stride : {8, 16, 32}) {
    if (which == 1)
      input.tensors.push_back(
          random_numbers(random, level_shape(stride, 1, 1, Form::kRows), {-0.2f, 1.1f}));
    if (which == 1) input.tensors.back().id = "obj_" + std::to_string(stride);
  }
  for (const uint32_t stride : {8, 16, 32})
    input.tensors.push_back(random_numbers(random,
                                           level_shape(stride, 2 - size_t(which), 4, Form::kRows),
                                           which == 0 ? kDistances : kDeltas));
  return input;
}

/// Boxes in pixels relative to cells; logits far beyond the clamp.
Input clamped(Random& random) {
  Input input = head_input("blazeface");
  input.settings.keypoints = false;  // the device does not compute their means
  auto family = std::make_shared<DetectorSpec>(*find_detector("blazeface"));
  family->logit_limit = 2;
  input.settings.family = std::move(family);
  const size_t anchors = 2 * all_cells({8}) + 6 * all_cells({16});
  input.tensors = {random_numbers(random, {1, anchors, 16}, {-20, 40}),
                   random_numbers(random, {1, anchors, 1}, {-6, 6})};
  return input;
}

/// Anchors by scales and ratios, in one tensor each or one per level, with deltas that are too
/// large.
Input anchors(Random& random) {
  const int which = pick(random, 0, 2);
  const char* names[] = {"retinanet", "efficientdet", "fcos"};
  Input input = head_input(names[which]);
  const size_t each = which == 2 ? 1 : 9, classes = 5;
  const auto add = [&](auto shape) {
    input.tensors.push_back(
        random_numbers(random, shape(size_t{4}), which == 2 ? kDistances : Span{-2, 6}));
    input.tensors.push_back(random_numbers(random, shape(classes), kLogits));
    if (which == 2) input.tensors.push_back(random_numbers(random, shape(size_t{1}), kLogits));
  };
  if (pick(random, 0, 1)) {
    const size_t all = each * all_cells({8, 16, 32, 64, 128});
    add([&](size_t channels) { return Shape{1, all, channels}; });
  } else {
    const Form form = which != 2 && pick(random, 0, 1) ? Form::kMaps : Form::kRows;
    for (const uint32_t stride : {8, 16, 32, 64, 128})
      add([&](size_t channels) { return level_shape(stride, each, channels, form); });
  }
  return input;
}

/// Objectness in tensors of its own, by every rule that uses it.
Input own_objectness(Random& random) {
  Input input = head_input("fcos", 0.2f);
  auto family = std::make_shared<DetectorSpec>(*find_detector("fcos"));
  constexpr ScoreRule kRules[] = {ScoreRule::kProduct, ScoreRule::kArgmaxFirst,
                                  ScoreRule::kObjectness, ScoreRule::kGeometricMean};
  family->score = kRules[pick(random, 0, 3)];
  if (pick(random, 0, 1)) family->activation = Activation::kNone;
  const Span scores = family->activation == Activation::kNone ? kScores : kLogits;
  input.settings.family = std::move(family);
  const size_t classes = pick(random, 0, 2) == 0 ? 1 : 9;
  const Form form = pick(random, 0, 1) ? Form::kMaps : Form::kRows;
  for (const uint32_t stride : {8, 16, 32, 64, 128}) {
    const auto add = [&](size_t channels, Span of) {
      input.tensors.push_back(random_numbers(random, level_shape(stride, 1, channels, form), of));
    };
    add(4, kDistances), add(classes, scores), add(1, scores);
  }
  return input;
}

/// Peaks with equal neighbours, at borders and in corners.
Input peaks(Random& random) {
  Input input = head_input("centernet");
  const size_t classes = size_t(pick(random, 1, 3));
  Tensor scores = random_numbers(random, level_shape(4, 1, classes, Form::kMaps), kLogits);
  for (float& score : scores.values)
    if (!std::isnan(score)) score = std::round(score);
  input.tensors = {std::move(scores),
                   random_numbers(random, level_shape(4, 1, 2, Form::kMaps), {1, 9}),
                   random_numbers(random, level_shape(4, 1, 2, Form::kMaps), {0, 1})};
  if (pick(random, 0, 1)) input.settings.multi_label = pick(random, 0, 1) != 0;
  return input;
}

/// y before x, and sizes in a separate tensor.
Input row_first(Random& random) {
  Input input = head_input("centerface");
  input.tensors = {random_numbers(random, level_shape(4, 1, 1, Form::kMaps), kScores),
                   random_numbers(random, level_shape(4, 1, 2, Form::kMaps), {0, 3}),
                   random_numbers(random, level_shape(4, 1, 2, Form::kMaps), kDeltas)};
  return input;
}

/// All kinds of tensors with few quantisation levels, so that many scores are equal.
Input integers(Random& random) {
  switch (pick(random, 0, 6)) {
    case 0: return in_integers(random, raw_heads(random));
    case 1: return in_integers(random, bins(random));
    case 2: return in_integers(random, faces(random));
    case 3: return in_integers(random, peaks(random));
    case 4: return in_integers(random, split(random, "ssd-softmax", 20));
    default: break;
  }
  const bool planes = pick(random, 0, 1) != 0;
  const size_t classes = pick(random, 0, 6) == 0 ? 300 : 12;
  Input input =
      planes ? forced("yolov8", dense(random, 525, 4 + classes, 4, pick(random, 0, 1), 160), 160)
             : forced("yolov5", dense(random, 300, 15, 5, false, 160), 160);
  if (!planes)
    for (size_t a = 0; a < 300; ++a) input.tensors[0].values[a * 15 + 4] = uniform(random, 0, 1);
  return in_integers(random, std::move(input));
}

/// One box per class that passes, by every score rule.
Input labels(Random& random) {
  Input input;
  switch (pick(random, 0, 5)) {
    case 0: input = raw_heads(random); break;
    case 1: input = split(random, "ssd-softmax", 6); break;
    case 2: input = split(random, "ssd", 6); break;
    case 3: input = anchors(random); break;
    default:
      input = forced(pick(random, 0, 1) ? "yolov5" : "yolox-decoded",
                     dense(random, 300, 15, 5, false, 160), 160);
      for (size_t a = 0; a < 300; ++a) input.tensors[0].values[a * 15 + 4] = uniform(random, 0, 1);
  }
  if (pick(random, 0, 3) == 0)
    input = forced("yolov8", dense(random, 525, 24, 4, pick(random, 0, 1), 160), 160);
  input.settings.multi_label = true;
  input.settings.score_threshold = uniform(random, 0.02f, 0.3f);
  if (pick(random, 0, 2) == 0) input.settings.exclude_classes = {1, 3};
  if (pick(random, 0, 2) == 0) input.settings.class_thresholds = {{0, 0.05f}, {2, 0.6f}};
  if (pick(random, 0, 3) == 0) input.settings.pre_nms_top_k = 20;
  return input;
}

/// Likewise for means over bins; some scores equal the threshold, some models have a background.
Input binned_labels(Random& random) {
  Input input = bins(random);
  input.settings.multi_label = true;
  input.settings.score_threshold = pick(random, 0, 1) ? kScores.high : 0.2f;
  if (pick(random, 0, 1)) input.settings.nms_contract = "inclusive";
  if (pick(random, 0, 2) == 0) input.settings.exclude_classes = {1, 3};
  if (pick(random, 0, 1)) return input;
  auto family = std::make_shared<DetectorSpec>(*find_detector(input.settings.detector));
  family->background = Background::kFirst;
  input.settings.family = std::move(family);
  return input;
}

constexpr Family kHeadFamilies[] = {
    {"raw-heads", "maps of anchors, cells and strides, products of activated scores", raw_heads},
    {"bins", "means over bins, levels in separate tensors", bins},
    {"box-last", "columns after the scores", box_last},
    {"faces", "consecutive anchors of a cell, roots of products", faces},
    {"clamped", "logits that are not clamped", clamped},
    {"anchors", "anchors of scales and ratios, deltas without a limit", anchors},
    {"own-objectness", "objectness in its own tensors, products and roots", own_objectness},
    {"peaks", "peaks among equals and at borders", peaks},
    {"row-first", "y before x", row_first},
    {"integers", "zero points, scales and equal numbers", integers},
    {"labels", "classes other than the best", labels},
    {"binned-labels", "classes other than the best, with one mean", binned_labels},
};

}  // namespace

std::span<const Family> head_families() { return kHeadFamilies; }

}  // namespace keepbox::test
