// SPDX-License-Identifier: LGPL-2.1-or-later
// The YOLO families: rows and planes.
#include <cmath>

#include "tests/unit/families/formula_yolo.h"

namespace keepbox::test {
namespace {

using enum Order;

std::vector<double> draw_pixels(Chance& chance, const Place& at) {
  return {between(chance, 0, at.width), between(chance, 0, at.height),
          between(chance, 4, at.width / 2), between(chance, 4, at.height / 2)};
}

std::vector<double> draw_fractions(Chance& chance, const Place&) {
  return {between(chance, 0, 1), between(chance, 0, 1), between(chance, 0.02, 0.5),
          between(chance, 0.02, 0.5)};
}

double draw_likely(Chance& chance, bool hot) {
  return hot ? between(chance, 0.6, 0.99) : between(chance, 0, 0.02);
}

Corners by_center(const Numbers& n, const Place&) {
  return centered(n[kBox][0], n[kBox][1], n[kBox][2], n[kBox][3]);
}

Corners by_fractions(const Numbers& n, const Place& at) {
  return centered(n[kBox][0] * at.width, n[kBox][1] * at.height, n[kBox][2] * at.width,
                  n[kBox][3] * at.height);
}

/// Multiplies probabilities: o * c.
Scores products(const Numbers& n) {
  Scores out;
  for (const double score : n[kScore]) out.push_back(n[kObject][0] * score);
  return out;
}

/// Multiplies only if there are several classes, like YOLOv7.
Scores objectness_of_one(const Numbers& n) {
  return n[kScore].size() == 1 ? Scores{n[kObject][0]} : products(n);
}

/// Rows of cx cy w h, objectness, classes.
template <size_t kClasses>
Model objects(const char* family, size_t anchors) {
  return {.family = family,
          .strides = {8, 16, 32},
          .anchors = {anchors},
          .columns = {{kBox, 4}, {kObject, 1}, {kScore, kClasses}},
          .together = true,
          .draw_box = draw_pixels,
          .draw_scores = probable<kClasses>,
          .draw_object = draw_likely,
          .box = by_center,
          .scores = products,
          .forms = kTables};
}

/// YOLOX: offsets in cells, log sizes, both in strides.
Model yolox() {
  Model out = objects<80>("yolox", 1);
  out.columns[0].id = "yolox-out";
  out.draw_box = draw_raw;
  out.box = [](const Numbers& n, const Place& at) {
    return centered((n[kBox][0] + double(at.x)) * at.stride,
                    (n[kBox][1] + double(at.y)) * at.stride, std::exp(n[kBox][2]) * at.stride,
                    std::exp(n[kBox][3]) * at.stride);
  };
  return out;
}

/// Planes of cx cy w h and classes.
template <size_t kClasses>
Model classes(const char* family, const char* id = "", size_t payload = 0) {
  Model out{.family = family,
            .strides = {8, 16, 32},
            .columns = {{kBox, 4, id}, {kScore, kClasses}},
            .together = true,
            .draw_box = draw_pixels,
            .draw_scores = probable<kClasses>,
            .box = by_center,
            .scores = as_they_are,
            .forms = {{.order = kPlanes},
                      {.order = kPlanes, .input = kRagged},
                      {},
                      {.order = kFlat},
                      {.order = kPlanes, .type = DataType::kFloat16},
                      {.order = kPlanes, .type = DataType::kBFloat16},
                      {.order = kPlanes, .type = DataType::kInt16},
                      {.type = DataType::kInt16},
                      {.order = kPlanes, .multi_label = true}}};
  if (payload != 0) out.columns.push_back({kMore, payload});
  return out;
}

/// Adds keypoints after the classes, in pixels.
Model posed(Model model, size_t each) {
  model.point_numbers = each;
  model.point = [each](const Numbers& n, const Place&, const Corners&, size_t first) {
    return as_it_is(n, first, each);
  };
  return model;
}

/// YOLOv5 and YOLOv7 for faces: five landmarks before or after the class.
Model face_rows(const char* family, size_t each, bool before) {
  Model out = objects<1>(family, 3);
  out.columns.insert(out.columns.end() - (before ? 1 : 0), {kMore, 5 * each});
  return posed(std::move(out), each);
}

/// Adds an angle after the classes.
Model oriented(const char* family, const char* id = "") {
  Model out = classes<15>(family, id, 1);
  out.angle = [](const Numbers& n) { return n[kMore][0]; };
  return out;
}

Model fractions(Model model) {
  model.draw_box = draw_fractions;
  model.box = by_fractions;
  model.forms.push_back({.order = kPlanes, .type = DataType::kInt8});
  model.forms.push_back({.order = kPlanes, .type = DataType::kUInt8});
  return model;
}

/// Planes of x1 y1 x2 y2 and classes.
Model corners() {
  Model out = classes<80>("yolo-corners", "yolo-corners-out");
  out.draw_box = [](Chance& chance, const Place& at) -> std::vector<double> {
    const double x = between(chance, 0, at.width * 0.8), y = between(chance, 0, at.height * 0.8);
    return {x, y, x + between(chance, 4, at.width / 2), y + between(chance, 4, at.height / 2)};
  };
  out.box = [](const Numbers& n, const Place&) {
    return Corners{n[kBox][0], n[kBox][1], n[kBox][2], n[kBox][3]};
  };
  return out;
}

}  // namespace

std::vector<Model> yolo_models() {
  std::vector<Model> out{objects<80>("yolov5", 3),
                         objects<80>("yolov3", 3),
                         objects<80>("yolov7", 3),
                         objects<1>("yolov7", 3),
                         objects<80>("yolov6", 1),
                         yolox(),
                         objects<80>("yolox-decoded", 1),
                         classes<80>("yolov8", "yolo-v8-out"),
                         fractions(classes<80>("yolov8-normalized", "yolo-v8-out-normalized")),
                         corners(),
                         classes<80>("yolov9"),
                         classes<80>("yolo11"),
                         classes<80>("yolo12"),
                         classes<80>("yolov8-seg", "yolo-v8-segmentation-out-detections", 32),
                         posed(classes<1>("yolov8-pose", "yolo-v8-pose-out", 51), 3),
                         posed(classes<1>("yolov8-face", "", 15), 3),
                         face_rows("yolov7-face", 3, false),
                         face_rows("yolov5-face", 2, true),
                         oriented("yolov8-obb", "yolo-v8-obb-out"),
                         oriented("yolo11-obb")};
  for (Model& model : out)
    if (std::string_view(model.family) == "yolov7") model.scores = objectness_of_one;
  for (Model& model : head_models()) out.push_back(std::move(model));
  return out;
}

}  // namespace keepbox::test
