// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and class scores in separate tensors, decoded except for activations.
#include <algorithm>
#include <cmath>

#include "tests/unit/families/formula.h"

namespace keepbox::test {
namespace {

using enum Order;

std::vector<double> draw_centers(Chance& chance, const Place&) {
  return {between(chance, 0, 1), between(chance, 0, 1), between(chance, 0.02, 0.5),
          between(chance, 0.02, 0.5)};
}

std::vector<double> draw_corners(Chance& chance, const Place& at, double width, double height) {
  const double x = between(chance, 0, 0.8), y = between(chance, 0, 0.8);
  (void)at;
  return {x * width, y * height, (x + between(chance, 0.02, 0.5)) * width,
          (y + between(chance, 0.02, 0.5)) * height};
}

std::vector<double> draw_corner_pixels(Chance& chance, const Place& at) {
  return draw_corners(chance, at, at.width, at.height);
}

std::vector<double> draw_corner_fractions(Chance& chance, const Place& at) {
  return draw_corners(chance, at, 1, 1);
}

Corners by_corners(const Numbers& n, const Place&) {
  return {n[kBox][0], n[kBox][1], n[kBox][2], n[kBox][3]};
}

Corners by_corner_fractions(const Numbers& n, const Place& at) {
  return {n[kBox][0] * at.width, n[kBox][1] * at.height, n[kBox][2] * at.width,
          n[kBox][3] * at.height};
}

Corners by_center_fractions(const Numbers& n, const Place& at) {
  return centered(n[kBox][0] * at.width, n[kBox][1] * at.height, n[kBox][2] * at.width,
                  n[kBox][3] * at.height);
}

/// Softmax over all classes; the last is "no object".
Scores softmax_but_last(const Numbers& n) {
  double sum = 0;
  for (const double logit : n[kScore]) sum += std::exp(logit);
  Scores out;
  for (const double logit : n[kScore]) out.push_back(std::exp(logit) / sum);
  out.pop_back();
  return out;
}

Scores draw_no_object(Chance& chance, bool hot) {
  Scores out;
  for (size_t c = 0; c < 92; ++c) out.push_back(between(chance, -3, 0));
  if (hot) out[chance() % 91] = between(chance, 4, 7);
  out.back() = hot ? between(chance, -2, 3) : between(chance, 7, 9);
  return out;
}

Scores draw_eighty(Chance& chance, bool hot) { return draw_probabilities(chance, 80, hot); }
Scores draw_eighty_logits(Chance& chance, bool hot) { return draw_logits(chance, 80, hot); }

const std::vector<Form> kForms{{},
                               {.input = {608, 800}},
                               {.order = kFlat},
                               {.type = DataType::kFloat16},
                               {.type = DataType::kBFloat16},
                               {.type = DataType::kInt8},
                               {.type = DataType::kUInt8},
                               {.type = DataType::kInt16},
                               {.multi_label = true},
                               {.multi_label = false}};

Model queries(const char* family, const char* boxes, const char* scores) {
  return {.family = family,
          .anchors = {300},
          .columns = {{kBox, 4, boxes}, {kScore, 80, scores}},
          .draw_box = draw_centers,
          .draw_scores = draw_eighty_logits,
          .box = by_center_fractions,
          .scores = activated,
          .multi_label = true,
          .forms = kForms};
}

Model detr() {
  Model out = queries("detr", "pred_boxes", "pred_logits");
  out.anchors = {100};
  out.columns[1].channels = 92;
  out.draw_scores = draw_no_object;
  out.scores = softmax_but_last;
  out.multi_label = false;
  return out;
}

Model conditional() {
  Model out = queries("conditional-detr", "pred_boxes", "pred_logits");
  out.columns[1].channels = 91;
  out.draw_scores = [](Chance& chance, bool hot) { return draw_logits(chance, 91, hot); };
  return out;
}

Model corners(const char* family, bool multi_label) {
  return {.family = family,
          .anchors = {420},
          .columns = {{kBox, 4}, {kScore, 80}},
          .draw_box = draw_corner_pixels,
          .draw_scores = draw_eighty,
          .box = by_corners,
          .scores = as_they_are,
          .multi_label = multi_label,
          .forms = kForms};
}

/// pytorch-YOLOv4's boxes have a dimension for the class, which they do not depend on.
Model yolov4() {
  Model out = corners("yolov4", false);
  out.draw_box = draw_corner_fractions;
  out.box = by_corner_fractions;
  out.columns[0].id = "boxes";
  out.columns[1].id = "confs";
  out.forms.push_back({.order = kDeep});
  return out;
}

/// Scores of background and face.
Model ultraface_corners() {
  Model out = corners("ultraface", false);
  out.columns[1].channels = 2;
  out.draw_box = draw_corner_fractions;
  out.box = by_corner_fractions;
  out.draw_scores = [](Chance& chance, bool hot) -> Scores {
    const double face = hot ? between(chance, 0.3, 1) : between(chance, 0, 0.01);
    return {1 - face, face};
  };
  out.scores = [](const Numbers& n) { return Scores{-1, n[kScore][1]}; };
  return out;
}

Model ppyoloe() {
  Model out = corners("ppyoloe", true);
  out.forms.push_back({.order = kPlanes});
  return out;
}

Model ultralytics() {
  Model out = queries("rtdetr-ultralytics", "", "");
  out.together = true;
  out.draw_scores = draw_eighty;
  out.scores = as_they_are;
  out.multi_label = false;
  return out;
}

}  // namespace

std::vector<Model> query_models() {
  return {yolov4(),
          corners("yolo-nas", true),
          ppyoloe(),
          ultraface_corners(),
          detr(),
          conditional(),
          queries("rt-detr", "pred_boxes", "pred_logits"),
          queries("d-fine", "pred_boxes", "pred_logits"),
          queries("rf-detr", "dets", "labels"),
          ultralytics()};
}

}  // namespace keepbox::test
