// SPDX-License-Identifier: LGPL-2.1-or-later
// Raw heads of the YOLO families: anchors and bins.
#include <cmath>

#include "tests/unit/families/formula_yolo.h"

namespace keepbox::test {
namespace {

using enum Order;

double draw_logit(Chance& chance, bool hot) {
  return hot ? between(chance, 0, 4) : between(chance, -9, -6);
}

template <size_t kClasses>
Scores logits(Chance& chance, bool hot) {
  return draw_logits(chance, kClasses, hot);
}

Scores activated_products(const Numbers& n) {
  Scores out;
  for (const double logit : n[kScore]) out.push_back(sigmoid64(n[kObject][0]) * sigmoid64(logit));
  return out;
}

Scores activated_objectness_of_one(const Numbers& n) {
  return n[kScore].size() == 1 ? Scores{sigmoid64(n[kObject][0])} : activated_products(n);
}

using Sizes = std::vector<std::array<double, 2>>;

const Sizes kV3{{10, 13},  {16, 30},  {33, 23},   {30, 61},  {62, 45},
                {59, 119}, {116, 90}, {156, 198}, {373, 326}};

const Sizes kV4{{12, 16},  {19, 36},   {40, 28},   {36, 75},  {76, 55},
                {72, 146}, {142, 110}, {192, 243}, {459, 401}};

const Sizes kV3Tiny{{10, 14}, {23, 27}, {37, 58}, {81, 82}, {135, 169}, {344, 319}};

std::vector<Form> maps_of_levels() {
  return {{.order = kMaps, .levels = true},
          {.order = kPixels, .levels = true},
          {.order = kMaps, .levels = true, .input = kRagged},
          {.order = kPixels, .levels = true, .type = DataType::kInt8},
          {.order = kPixels, .levels = true, .type = DataType::kUInt8},
          {.order = kMaps, .levels = true, .type = DataType::kFloat16},
          {.order = kMaps, .levels = true, .multi_label = true}};
}

template <size_t kClasses>
Model anchored(const char* family, std::vector<size_t> strides) {
  Model out{.family = family,
            .strides = std::move(strides),
            .anchors = {3},
            .columns = {{kBox, 4}, {kObject, 1}, {kScore, kClasses}},
            .together = true,
            .draw_box = draw_raw,
            .draw_scores = logits<kClasses>,
            .draw_object = draw_logit,
            .scores = activated_products,
            .forms = maps_of_levels()};
  out.forms.push_back({.order = kStacked, .levels = true});
  out.forms.push_back({.order = kStacked, .levels = true, .type = DataType::kBFloat16});
  return out;
}

/// xy = 2s - 0.5, wh = (2s)^2.
template <size_t kClasses = 80>
Model by_sigmoid(const char* family, const Sizes& sizes) {
  Model out = anchored<kClasses>(family, {8, 16, 32});
  out.box = [sizes](const Numbers& n, const Place& at) {
    const auto [w, h] = sizes[at.level * 3 + at.anchor];
    return centered((2 * sigmoid64(n[kBox][0]) - 0.5 + double(at.x)) * at.stride,
                    (2 * sigmoid64(n[kBox][1]) - 0.5 + double(at.y)) * at.stride,
                    std::pow(2 * sigmoid64(n[kBox][2]), 2) * w,
                    std::pow(2 * sigmoid64(n[kBox][3]), 2) * h);
  };
  return out;
}

/// xy = k s - (k - 1) / 2, wh = e^; k of each level is scale_x_y of Darknet's files.
Model by_exponent(const char* family, const Sizes& sizes, std::vector<size_t> strides,
                  std::array<double, 3> scales = {1, 1, 1}) {
  Model out = anchored<80>(family, std::move(strides));
  out.coarse_first = true;
  out.box = [sizes, scales](const Numbers& n, const Place& at) {
    const auto [w, h] = sizes[at.level * 3 + at.anchor];
    const double k = scales[at.level], less = (k - 1) / 2;
    return centered((sigmoid64(n[kBox][0]) * k - less + double(at.x)) * at.stride,
                    (sigmoid64(n[kBox][1]) * k - less + double(at.y)) * at.stride,
                    std::exp(n[kBox][2]) * w, std::exp(n[kBox][3]) * h);
  };
  return out;
}

template <size_t kBins>
std::vector<double> draw_bins(Chance& chance, const Place&) {
  std::vector<double> out;
  for (size_t i = 0; i < 4 * kBins; ++i) out.push_back(between(chance, -3, 3));
  return out;
}

/// Model with distances from a point of the cell to the sides: the mean of their bins, in strides.
template <size_t kBins>
Corners by_bins(const Numbers& n, const Place& at, double offset) {
  double distance[4];
  for (size_t side = 0; side < 4; ++side) {
    double sum = 0, weighted = 0;
    for (size_t bin = 0; bin < kBins; ++bin) {
      const double weight = std::exp(n[kBox][side * kBins + bin]);
      sum += weight;
      weighted += weight * double(bin);
    }
    distance[side] = weighted / sum * at.stride;
  }
  const double x = (double(at.x) + offset) * at.stride, y = (double(at.y) + offset) * at.stride;
  return {x - distance[0], y - distance[1], x + distance[2], y + distance[3]};
}

Model bins_of_sixteen(const char* family) {
  Model out{.family = family,
            .strides = {8, 16, 32},
            .columns = {{kBox, 64}, {kScore, 80}},
            .together = true,
            .draw_box = draw_bins<16>,
            .draw_scores = logits<80>,
            .box = [](const Numbers& n, const Place& at) { return by_bins<16>(n, at, 0.5); },
            .scores = activated,
            .forms = maps_of_levels()};
  return out;
}

Model in_two(Model model) {
  model.together = false;
  model.level_first = true;
  model.forms.push_back({.order = kRows, .levels = true});
  return model;
}

Model rockchip() {
  Model out = in_two(bins_of_sixteen("yolov8-rknn"));
  out.columns.push_back({kMore, 1, "", true});
  out.draw_scores = probable<80>;
  out.scores = as_they_are;
  out.forms.push_back({.order = kMaps, .levels = true, .optional = false});
  return out;
}

/// Model with class scores before the bins; cells count from their corner.
Model nanodet() {
  return {.family = "nanodet-plus",
          .strides = {8, 16, 32, 64},
          .columns = {{kScore, 80}, {kBox, 32}},
          .together = true,
          .draw_box = draw_bins<8>,
          .draw_scores = probable<80>,
          .box = [](const Numbers& n, const Place& at) { return by_bins<8>(n, at, 0); },
          .scores = as_they_are,
          .forms = kTables};
}

Model picodet() {
  return {.family = "picodet",
          .strides = {8, 16, 32, 64},
          .columns = {{kScore, 80}, {kBox, 32}},
          .draw_box = draw_bins<8>,
          .draw_scores = probable<80>,
          .box = [](const Numbers& n, const Place& at) { return by_bins<8>(n, at, 0.5); },
          .scores = as_they_are,
          .multi_label = true,
          .forms = {{.levels = true},
                    {.levels = true, .input = kRagged},
                    {.levels = true, .type = DataType::kInt8},
                    {.levels = true, .type = DataType::kFloat16},
                    {.levels = true, .multi_label = false}}};
}

/// The first NanoDet: three levels, the best class.
Model old_nanodet() {
  Model out = picodet();
  out.family = "nanodet";
  out.strides = {8, 16, 32};
  out.multi_label = false;
  out.forms.back().multi_label = true;
  return out;
}

/// Exports of PicoDet and NanoDet-Plus without the level of stride 64.
Model of_three_levels(Model model) {
  model.strides.pop_back();
  return model;
}

}  // namespace

std::vector<Model> head_models() {
  std::vector<Model> out{by_sigmoid("yolov5-heads", kV3),
                         by_exponent("yolov3-heads", kV3, {8, 16, 32}),
                         by_exponent("yolov3-tiny-heads", kV3Tiny, {16, 32}),
                         by_exponent("yolov4-heads", kV4, {8, 16, 32}, {1.2, 1.1, 1.05}),
                         by_sigmoid("yolov7-heads", kV4),
                         by_sigmoid<1>("yolov7-heads", kV4),
                         bins_of_sixteen("yolov8-heads"),
                         in_two(bins_of_sixteen("yolov8-heads-split")),
                         rockchip(),
                         nanodet(),
                         picodet(),
                         of_three_levels(nanodet()),
                         of_three_levels(picodet()),
                         old_nanodet()};
  for (Model& model : out) {
    const std::string_view name = model.family;
    if (name == "yolov7-heads") model.scores = activated_objectness_of_one;
    if (name == "yolov8-heads") model.forms.push_back({.order = kPlanes});
    if (name == "yolov8-heads") model.forms.push_back({});
  }
  return out;
}

}  // namespace keepbox::test
