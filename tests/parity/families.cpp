// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates the inputs of the parity tests.
#include "tests/parity/makers.h"

#include <limits>

namespace keepbox::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Input scene(Random& random) {
  return ready(clusters(random, pick(random, 5, 40), pick(random, 1, 12), 5));
}

Input agnostic(Random& random) {
  Input input = scene(random);
  input.settings.class_agnostic = true;
  return input;
}

/// Boxes on a coarse grid: many pairs have an IoU of exactly 1/3, 1/2, ...
Input grid(Random& random) {
  std::vector<Row> out;
  for (int i = 0; i < 150; ++i) {
    const float x = float(pick(random, 0, 12)) * 8, y = float(pick(random, 0, 12)) * 8;
    out.push_back({x, y, x + float(pick(random, 1, 4)) * 8, y + float(pick(random, 1, 4)) * 8,
                   uniform(random, 0.3f, 1), float(pick(random, 0, 1))});
  }
  const float thresholds[] = {0.5f, 1.0f / 3, 0.25f, 0.2f, 2.0f / 3};
  return ready(std::move(out), thresholds[pick(random, 0, 4)]);
}

/// Pairs of boxes, and the IoU of one of them as the threshold.
Input at_threshold(Random& random) {
  std::vector<Row> out;
  for (int i = 0; i < 60; ++i) {
    const float x = uniform(random, 0, 500), y = uniform(random, 0, 500);
    const float w = uniform(random, 20, 100), h = uniform(random, 20, 100);
    const float s = uniform(random, 0.4f, 0.9f);
    out.push_back({x, y, x + w, y + h, s, float(i)});
    out.push_back({x + uniform(random, -8, 8), y + uniform(random, -8, 8),
                   x + w + uniform(random, -8, 8), y + h + uniform(random, -8, 8), s - 0.1f,
                   float(i)});
  }
  const auto pair = static_cast<size_t>(pick(random, 0, 59)) * 2;
  const float iou = iou_of(out[pair], out[pair + 1]);
  return ready(std::move(out), iou);
}

Input ties(Random& random) {
  auto list = clusters(random, 12, 8, 3);
  for (Row& row : list) row.score = pick(random, 0, 3) == 0 ? 0.75f : 0.5f;
  return ready(std::move(list));
}

Input score_at_threshold(Random& random) {
  auto list = clusters(random, 20, 3, 3);
  for (Row& row : list)
    if (pick(random, 0, 1)) row.score = 0.25f;
  return ready(std::move(list));
}

Input not_finite(Random& random) {
  auto list = clusters(random, 20, 4, 3);
  for (Row& row : list) {
    float* const fields[] = {&row.x1, &row.y1, &row.x2, &row.y2, &row.score, &row.class_id};
    const float values[] = {kNan, kInfinity, -kInfinity};
    if (pick(random, 0, 2) == 0) *fields[pick(random, 0, 5)] = values[pick(random, 0, 2)];
  }
  return ready(std::move(list));
}

Input degenerate(Random& random) {
  auto list = clusters(random, 20, 4, 2);
  for (Row& row : list) {
    switch (pick(random, 0, 5)) {
      case 0: row.x2 = row.x1; break;
      case 1: std::swap(row.x1, row.x2); break;
      case 2:
        std::swap(row.x1, row.x2);
        std::swap(row.y1, row.y2);
        break;
      default: break;
    }
  }
  Input input = ready(std::move(list));
  const char* names[] = {"exact", "onnx", "opencv", "plus-one", "inclusive"};
  input.settings.nms_contract = names[pick(random, 0, 4)];
  return input;
}

Input negative_zero(Random& random) {
  auto list = clusters(random, 10, 6, 2);
  for (Row& row : list) row.score = pick(random, 0, 1) ? 0.0f : -0.0f;
  Input input = ready(std::move(list));
  input.settings.score_threshold = -1;
  return input;
}

/// A row of boxes that each overlap only their neighbours.
Input chains(Random& random) {
  std::vector<Row> out;
  for (int chain = 0; chain < 6; ++chain)
    for (int i = 0; i < 12; ++i) {
      const float x = float(i) * 3 + 2 * uniform(random, 0, 0.1f), y = float(chain) * 20;
      out.push_back({x, y, x + 10, y + 10, 0.9f - float(i) * 0.01f, 0});
    }
  return ready(std::move(out), 0.45f);
}

/// Limits one below, at and one above the number of boxes.
Input capacity(Random& random) {
  std::vector<Row> out;
  for (int i = 0; i < 20; ++i)
    out.push_back({float(i) * 30, 0, float(i) * 30 + 20, 20, uniform(random, 0.3f, 1),
                   float(pick(random, 0, 2))});
  Input input = ready(std::move(out));
  input.settings.max_detections = static_cast<uint32_t>(pick(random, 19, 21));
  input.settings.pre_nms_top_k =
      static_cast<uint32_t>(pick(random, 0, 1) ? pick(random, 17, 21) : 0);
  if (pick(random, 0, 2) == 0)
    input.settings.max_detections = static_cast<uint32_t>(pick(random, 0, 3));
  if (pick(random, 0, 3) == 0) input.settings.nms_contract = "onnx";
  return input;
}

Input planes(Random& random) { return forced("yolov8", dense(random, 525, 24, 4, true, 160), 160); }
Input transposed(Random& random) {
  return forced("yolov8", dense(random, 525, 24, 4, false, 160), 160);
}
Input objectness(Random& random) {
  Tensor tensor = dense(random, 1575, 15, 5, false, 160);
  for (size_t a = 0; a < 1575; ++a) tensor.values[a * 15 + 4] = uniform(random, 0, 1);
  return forced("yolov5", std::move(tensor), 160);
}

/// Equal class scores, to test which class wins.
Input class_ties(Random& random) {
  Input input = planes(random);
  for (size_t i = 525 * 4; i < input.tensors[0].values.size(); ++i)
    input.tensors[0].values[i] = pick(random, 0, 3) == 0 ? 0.5f : 0.3f;
  return input;
}

/// Class scores one ulp apart whose products with the objectness are equal.
Input product_ties(Random& random) {
  Tensor tensor = dense(random, 1575, 15, 5, false, 160);
  for (size_t a = 0; a < 1575; ++a) {
    tensor.values[a * 15 + 4] = uniform(random, 0.5f, 0.75f);
    const float score = uniform(random, 0.7f, 0.95f);
    tensor.values[a * 15 + 5] = score;
    tensor.values[a * 15 + 6] = std::nextafter(score, 1.0f);
  }
  return forced(pick(random, 0, 1) ? "yolov5" : "yolox-decoded", std::move(tensor), 160);
}

Input class_filter(Random& random) {
  Input input = planes(random);
  input.settings.exclude_classes = {0, 3, 7, 11};
  input.settings.class_thresholds = {{1, 0.9f}, {2, 0.28f}, {5, 0.1f}};
  return input;
}

/// Numbers of anchors around the vector size of any machine, in both memory orders.
Input sizes(Random& random) {
  const auto anchors = static_cast<size_t>(pick(random, 9, 80));
  Input input = forced("yolov8", dense(random, anchors, 9, 4, pick(random, 0, 1), 160), 160);
  input.settings.score_threshold = 0.05f;
  return input;
}

Input unaligned(Random& random) {
  Input input = pick(random, 0, 1) ? planes(random) : objectness(random);
  input.shift = static_cast<size_t>(pick(random, 1, 63));
  return input;
}

Input yolox_grid(Random& random) {
  Tensor tensor = dense(random, 630, 12, 5, false, 160);
  for (size_t a = 0; a < 630; ++a) {
    for (size_t c = 0; c < 2; ++c) tensor.values[a * 12 + c] = uniform(random, -0.5f, 1.5f);
    for (size_t c = 2; c < 4; ++c) tensor.values[a * 12 + c] = uniform(random, -2, 2);
    tensor.values[a * 12 + 4] = uniform(random, 0, 1);
  }
  Input input = forced("yolox", std::move(tensor), 192);
  input.settings.frame.size = {192, 160};
  input.settings.score_threshold = 0.1f;
  return input;
}

Input ssd(Random& random) { return split(random, "ssd", 4); }
Input softmax(Random& random) { return split(random, "ssd-softmax", 120); }

Input batch(Random& random) {
  Input input = scene(random);
  auto& tensor = input.tensors[0];
  const size_t each = tensor.values.size() / 6;
  const Tensor other = rows(clusters(random, static_cast<int>(each), 1, 5));
  tensor.values.insert(tensor.values.end(), other.values.begin(), other.values.end());
  tensor.shape = {2, each, 6};
  return input;
}

Input empty(Random&) { return ready({}); }

/// Every box above the threshold is kept, as for end-to-end models.
Input unsuppressed(Random& random) {
  Input input = capacity(random);
  input.settings.nms_method = NmsMethod::kNone;
  return input;
}

constexpr Family kFamilies[] = {
    {"scene", "anything that goes wrong on ordinary frames", scene},
    {"agnostic", "classes compared although they must not be", agnostic},
    {"grid", "an IoU on the threshold decided the other way", grid},
    {"at-threshold", "fused multiply-add, and products in place of the division", at_threshold},
    {"ties", "order among equal scores", ties},
    {"score-at-threshold", "a score on the threshold decided the other way", score_at_threshold},
    {"not-finite", "NaN and infinities that get through", not_finite},
    {"degenerate", "boxes without area and inverted ones", degenerate},
    {"negative-zero", "-0 sorted after +0", negative_zero},
    {"chains", "suppression by boxes that are suppressed themselves", chains},
    {"capacity", "limits off by one, writes past the end", capacity},
    {"planes", "strides of class planes", planes},
    {"transposed", "strides of class rows", transposed},
    {"objectness", "products of scores", objectness},
    {"class-ties", "the wrong one of equal classes", class_ties},
    {"product-ties", "the class chosen before or after the product", product_ties},
    {"class-filter", "filters before the best class is known, thresholds of classes", class_filter},
    {"sizes", "tails shorter than a vector", sizes},
    {"unaligned", "loads that need alignment", unaligned},
    {"yolox-grid", "cells, rows and strides of a grid that is not square", yolox_grid},
    {"ssd", "order of deltas and priors", ssd},
    {"softmax", "exponentials that overflow, sums in another order", softmax},
    {"batch", "images that leak into each other", batch},
    {"unsuppressed", "limits without suppression", unsuppressed},
    {"empty", "nothing at all", empty},
};

}  // namespace

std::span<const Family> families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list(std::begin(kFamilies), std::end(kFamilies));
    for (const auto& more :
         {method_families(), crowd_families(), filter_families(), head_families(), list_families(),
          oriented_families(), payload_families(), tile_families(), value_families()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

Input crowd(Random& random, bool planes, size_t anchors) {
  return planes ? forced("yolov8", dense(random, anchors, 84, 4, true, 640), 640)
                : forced("yolov5", dense(random, anchors, 85, 4, false, 640), 640);
}

}  // namespace keepbox::test
