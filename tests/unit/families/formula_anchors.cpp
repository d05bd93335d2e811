// SPDX-License-Identifier: LGPL-2.1-or-later
// Families with prior boxes, generated as in each model's code.
#include <algorithm>
#include <cmath>

#include "tests/unit/families/formula.h"
#include "tests/unit/families/formula_priors.h"

namespace keepbox::test {
namespace {

using enum Order;

constexpr double kMaxDelta = 4.135166556742356;  // log(1000 / 16)

std::vector<double> draw_deltas(Chance& chance, const Place&) {
  return {between(chance, -2, 2), between(chance, -2, 2), between(chance, -2, 3),
          between(chance, -2, 3)};
}

/// Draws deltas, some beyond torchvision's limit of sides.
std::vector<double> draw_wild_deltas(Chance& chance, const Place&) {
  return {between(chance, -1, 1), between(chance, -1, 1), between(chance, -4, 6),
          between(chance, -4, 6)};
}

/// Activates all but the background, which is first.
Scores activated_but_first(const Numbers& n) {
  Scores out = activated(n);
  out[0] = -1;
  return out;
}

Scores softmax_but_first(const Numbers& n) {
  double sum = 0;
  for (const double logit : n[kScore]) sum += std::exp(logit);
  Scores out;
  for (const double logit : n[kScore]) out.push_back(std::exp(logit) / sum);
  out[0] = -1;
  return out;
}

Scores draw_background(Chance& chance, bool hot) {
  Scores out;
  for (size_t c = 0; c < 21; ++c) out.push_back(between(chance, -4, -1));
  out[0] = hot ? between(chance, -3, 1) : between(chance, 6, 9);
  if (hot) out[1 + chance() % 20] = between(chance, 1, 5);
  if (hot) out[1 + chance() % 20] = between(chance, 1, 5);
  return out;
}

Scores draw_tensorflow(Chance& chance, bool hot) {
  Scores out = draw_logits(chance, 91, hot);
  out[0] = between(chance, 1, 5);  // ignored
  return out;
}

Scores draw_ninety(Chance& chance, bool hot) { return draw_logits(chance, 90, hot); }
Scores draw_ninety_one(Chance& chance, bool hot) { return draw_logits(chance, 91, hot); }

/// Moves the centre by fractions of the prior's sides and scales the sides by e^.
/// @param delta tx ty tw th.
Corners by_deltas(const Prior64& prior, const std::array<double, 4>& delta, double most = 1e9) {
  return centered(prior[0] + delta[0] * prior[2], prior[1] + delta[1] * prior[3],
                  prior[2] * std::exp(std::min(delta[2], most)),
                  prior[3] * std::exp(std::min(delta[3], most)));
}

/// Decodes with variances 0.1 and 0.2; ty tx th tw for TensorFlow.
Corners by_ssd(const Numbers& n, const Prior64& prior, bool yx, double most = 1e9) {
  const auto& b = n[kBox];
  return yx ? by_deltas(prior, {b[1] / 10, b[0] / 10, b[3] / 5, b[2] / 5})
            : by_deltas(prior, {b[0] / 10, b[1] / 10, b[2] / 5, b[3] / 5}, most);
}

Model ssd(const char* family, Prior64 (*prior)(const Place&), std::vector<size_t> strides,
          std::vector<size_t> anchors, Size input) {
  return {.family = family,
          .strides = std::move(strides),
          .anchors = std::move(anchors),
          .cell_major = true,
          .columns = {{kBox, 4}, {kScore, 21}},
          .draw_box = draw_deltas,
          .draw_scores = draw_background,
          .scores = softmax_but_first,
          .prior = prior,
          .forms = {{.input = input},
                    {.order = kFlat, .input = input},
                    {.order = kPlanes, .input = input},
                    {.input = input, .type = DataType::kInt8},
                    {.input = input, .type = DataType::kUInt8},
                    {.input = input, .type = DataType::kFloat16},
                    {.input = input, .type = DataType::kBFloat16},
                    {.input = input, .multi_label = true},
                    {.input = input, .multi_label = false}}};
}

Model tensorflow() {
  Model out =
      ssd("ssd", tensorflow_prior, {16, 32, 64, 128, 256, 512}, {3, 6, 6, 6, 6, 6}, {300, 300});
  out.columns[1].channels = 91;
  out.draw_scores = draw_tensorflow;
  out.scores = activated_but_first;
  out.box = [](const Numbers& n, const Place& at) { return by_ssd(n, tensorflow_prior(at), true); };
  return out;
}

Model torchvision_ssd(const char* family, Prior64 (*prior)(const Place&),
                      std::vector<size_t> strides, std::vector<size_t> anchors, Size input) {
  Model out = ssd(family, prior, std::move(strides), std::move(anchors), input);
  out.box = [prior](const Numbers& n, const Place& at) {
    return by_ssd(n, prior(at), false, kMaxDelta);
  };
  out.multi_label = true;
  return out;
}

/// SSD with priors from a file.
Model listed() {
  Model out = torchvision_ssd("ssd-softmax", ssd300_prior, {8, 16, 32, 64, 100, 300},
                              {4, 6, 6, 6, 4, 4}, {300, 300});
  out.multi_label = false;
  out.with_priors = true;
  return out;
}

std::vector<Form> forms_of_five(std::vector<Size> sizes) {
  std::vector<Form> out;
  for (const Size size : sizes)
    for (const bool levels : {true, false}) out.push_back({.levels = levels, .input = size});
  const Size size = sizes[0];
  out.push_back({.order = kMaps, .levels = true, .input = size});
  out.push_back({.order = kPixels, .levels = true, .input = size});
  out.push_back({.order = kMaps, .levels = true, .input = sizes.back(), .type = DataType::kInt8});
  out.push_back({.levels = true, .input = size, .type = DataType::kUInt8});
  out.push_back({.input = size, .type = DataType::kFloat16});
  out.push_back({.input = size, .type = DataType::kBFloat16});
  out.push_back({.input = size, .multi_label = false});
  return out;
}

Model retinanet() {
  return {.family = "retinanet",
          .strides = {8, 16, 32, 64, 128},
          .anchors = {9},
          .cell_major = true,
          .columns = {{kBox, 4, "bbox_regression"}, {kScore, 91, "cls_logits"}},
          .draw_box = draw_wild_deltas,
          .draw_scores = draw_ninety_one,
          .box =
              [](const Numbers& n, const Place& at) {
                return by_deltas(retinanet_prior(at),
                                 {n[kBox][0], n[kBox][1], n[kBox][2], n[kBox][3]}, kMaxDelta);
              },
          .scores = activated,
          .multi_label = true,
          .prior = retinanet_prior,
          .forms = forms_of_five({{256, 128}, {352, 224}, {608, 800}})};
}

Model efficientdet() {
  return {.family = "efficientdet",
          .strides = {8, 16, 32, 64, 128},
          .anchors = {9},
          .cell_major = true,
          .columns = {{kBox, 4}, {kScore, 90}},
          .draw_box = draw_deltas,
          .draw_scores = draw_ninety,
          .box =
              [](const Numbers& n, const Place& at) {
                return by_deltas(efficientdet_prior(at),
                                 {n[kBox][1], n[kBox][0], n[kBox][3], n[kBox][2]});
              },
          .scores = activated,
          .multi_label = true,
          .prior = efficientdet_prior,
          .forms = forms_of_five({{256, 128}, {512, 512}})};
}

/// Distances in strides from cells with integer distances, sqrt(centerness * class).
Model fcos() {
  return {.family = "fcos",
          .strides = {8, 16, 32, 64, 128},
          .cell_major = true,
          .columns = {{kScore, 91, "cls_logits"},
                      {kBox, 4, "bbox_regression"},
                      {kObject, 1, "bbox_ctrness"}},
          .draw_box = [](Chance& chance, const Place&) -> std::vector<double> {
            return {between(chance, 0, 4), between(chance, 0, 4), between(chance, 0, 4),
                    between(chance, 0, 4)};
          },
          .draw_scores = draw_ninety_one,
          .draw_object =
              [](Chance& chance, bool hot) {
                return hot ? between(chance, -2, 3) : between(chance, -9, -6);
              },
          .box =
              [](const Numbers& n, const Place& at) {
                const double x = double(at.x) * std::floor(at.width / double(at.columns));
                const double y = double(at.y) * std::floor(at.height / double(at.rows));
                const auto& d = n[kBox];
                return Corners{x - d[0] * at.stride, y - d[1] * at.stride, x + d[2] * at.stride,
                               y + d[3] * at.stride};
              },
          .scores =
              [](const Numbers& n) {
                Scores out;
                for (const double logit : n[kScore])
                  out.push_back(std::sqrt(sigmoid64(logit) * sigmoid64(n[kObject][0])));
                return out;
              },
          .multi_label = true,
          .forms = forms_of_five({{256, 128}, {352, 224}, {608, 800}})};
}

/// Draws probabilities of background and face.
Scores draw_face(Chance& chance, bool hot) {
  const double face = hot ? between(chance, 0.2, 1) : between(chance, 0, 0.01);
  return {1 - face, face};
}

Scores face_only(const Numbers& n) { return {-1, n[kScore][1]}; }

/// Scores of background and face.
Model retinaface(const char* family, bool logits) {
  Model out{.family = family,
            .strides = {8, 16, 32},
            .anchors = {2},
            .cell_major = true,
            .columns = {{kBox, 4, "loc"}, {kScore, 2, "conf"}, {kMore, 10, "landms", true}},
            .draw_box = draw_deltas,
            .box = [](const Numbers& n,
                      const Place& at) { return by_ssd(n, retinaface_prior(at), false); },
            .point_numbers = 2,
            .point =
                [](const Numbers& n, const Place& at, const Corners&, size_t first) {
                  const Point p = as_it_is(n, first, 2);
                  const auto prior = retinaface_prior(at);
                  return Point{prior[0] + 0.1 * p.x * prior[2], prior[1] + 0.1 * p.y * prior[3]};
                },
            .prior = retinaface_prior,
            .forms = {{},
                      {.input = {608, 808}},
                      {.order = kFlat},
                      {.optional = false},
                      {.type = DataType::kInt8},
                      {.type = DataType::kFloat16},
                      {.order = kPixels, .levels = true}}};
  if (logits) {
    out.draw_scores = [](Chance& chance, bool hot) -> Scores {
      return {between(chance, -1, 1), hot ? between(chance, 0, 4) : between(chance, -9, -6)};
    };
    out.scores = softmax_but_first;
  } else {
    out.draw_scores = draw_face;
    out.scores = face_only;
  }
  return out;
}

/// RetinaFace with larger anchors and four corners.
Model plates() {
  Model out = retinaface("retinaface-plates", false);
  out.columns[2].channels = 8;
  out.columns[2].optional = false;
  out.box = [](const Numbers& n, const Place& at) { return by_ssd(n, plate_prior(at), false); };
  out.point = [](const Numbers& n, const Place& at, const Corners&, size_t first) {
    const Point p = as_it_is(n, first, 2);
    const auto prior = plate_prior(at);
    return Point{prior[0] + 0.1 * p.x * prior[2], prior[1] + 0.1 * p.y * prior[3]};
  };
  out.prior = plate_prior;
  std::erase_if(out.forms, [](const Form& form) { return !form.optional; });
  return out;
}

Model ultraface_deltas() {
  const Size small{320, 240};
  return {.family = "ultraface-raw",
          .strides = {8, 16, 32, 64},
          .anchors = {3, 2, 2, 3},
          .cell_major = true,
          .columns = {{kBox, 4}, {kScore, 2}},
          .draw_box = draw_deltas,
          .draw_scores = draw_face,
          .box = [](const Numbers& n,
                    const Place& at) { return by_ssd(n, ultraface_prior(at), false); },
          .scores = face_only,
          .prior = ultraface_prior,
          .forms = {{.input = small},
                    {.input = {640, 480}},
                    {.order = kFlat, .input = small},
                    {.input = small, .type = DataType::kInt8},
                    {.input = small, .type = DataType::kFloat16}}};
}

}  // namespace

std::vector<Model> anchor_models() {
  return {
      tensorflow(),
      listed(),
      torchvision_ssd("ssd300", ssd300_prior, {8, 16, 32, 64, 100, 300}, {4, 6, 6, 6, 4, 4},
                      {300, 300}),
      torchvision_ssd("ssdlite320", ssdlite_prior, {16, 32, 64, 128, 160, 320}, {6}, {320, 320}),
      retinanet(),
      efficientdet(),
      fcos(),
      retinaface("retinaface", false),
      retinaface("retinaface-logits", true),
      plates(),
      ultraface_deltas()};
}

}  // namespace keepbox::test
