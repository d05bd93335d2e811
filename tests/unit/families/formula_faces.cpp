// SPDX-License-Identifier: LGPL-2.1-or-later
// Families for faces, hands and bodies, and score maps with peaks.
#include <algorithm>
#include <cmath>

#include "tests/unit/families/formula.h"

namespace keepbox::test {
namespace {

using enum Order;

double draw_overlap(Chance& chance, bool hot) {
  return hot ? between(chance, 0.3, 1.1) : between(chance, -0.05, 0.02);
}

Scores draw_one(Chance& chance, bool hot) { return draw_probabilities(chance, 1, hot); }

Scores activated_clipped(const Numbers& n) {
  Scores out;
  for (const double logit : n[kScore]) out.push_back(sigmoid64(std::clamp(logit, -100.0, 100.0)));
  return out;
}

const std::vector<Form> kByLevel{{.levels = true},
                                 {.order = kFlat, .levels = true},
                                 {.levels = true, .input = {608, 800}},
                                 {.order = kPixels, .levels = true},
                                 {.levels = true, .type = DataType::kInt8},
                                 {.levels = true, .type = DataType::kUInt8},
                                 {.levels = true, .type = DataType::kFloat16},
                                 {.levels = true, .optional = false}};

/// Adds strides to the corner of the cell.
Point from_cell(const Numbers& n, const Place& at, const Corners&, size_t first) {
  const Point p = as_it_is(n, first, 2);
  return {(double(at.x) + p.x) * at.stride, (double(at.y) + p.y) * at.stride};
}

Model scrfd() {
  return {.family = "scrfd",
          .strides = {8, 16, 32},
          .anchors = {2},
          .cell_major = true,
          .columns = {{kScore, 1, "score_*"}, {kBox, 4, "bbox_*"}, {kMore, 10, "kps_*", true}},
          .draw_box = [](Chance& chance, const Place&) -> std::vector<double> {
            return {between(chance, 0, 4), between(chance, 0, 4), between(chance, 0, 4),
                    between(chance, 0, 4)};
          },
          .draw_scores = draw_one,
          .box =
              [](const Numbers& n, const Place& at) {
                const double x = double(at.x) * at.stride, y = double(at.y) * at.stride;
                const auto& d = n[kBox];
                return Corners{x - d[0] * at.stride, y - d[1] * at.stride, x + d[2] * at.stride,
                               y + d[3] * at.stride};
              },
          .point_numbers = 2,
          .point = from_cell,
          .scores = as_they_are,
          .forms = kByLevel};
}

/// Model with sqrt(class * objectness), both clamped to 0..1.
Model yunet() {
  return {
      .family = "yunet",
      .strides = {8, 16, 32},
      .columns = {{kScore, 1, "cls_*"},
                  {kObject, 1, "obj_*"},
                  {kBox, 4, "bbox_*"},
                  {kMore, 10, "kps_*", true}},
      .draw_box = [](Chance& chance, const Place&) -> std::vector<double> {
        return {between(chance, -1, 1), between(chance, -1, 1), between(chance, -1, 2),
                between(chance, -1, 2)};
      },
      .draw_scores = [](Chance& chance, bool hot) -> Scores { return {draw_overlap(chance, hot)}; },
      .draw_object = draw_overlap,
      .box =
          [](const Numbers& n, const Place& at) {
            return centered((double(at.x) + n[kBox][0]) * at.stride,
                            (double(at.y) + n[kBox][1]) * at.stride,
                            std::exp(n[kBox][2]) * at.stride, std::exp(n[kBox][3]) * at.stride);
          },
      .point_numbers = 2,
      .point = from_cell,
      .scores =
          [](const Numbers& n) {
            return Scores{std::sqrt(std::clamp(n[kScore][0], 0.0, 1.0) *
                                    std::clamp(n[kObject][0], 0.0, 1.0))};
          },
      .forms = kByLevel};
}

/// Model with anchors of the size of the input, in pixels relative to the centre of the cell.
Model mediapipe(const char* family, uint32_t side, size_t points, std::vector<size_t> strides,
                std::vector<size_t> anchors) {
  const Size input{side, side};
  return {.family = family,
          .strides = std::move(strides),
          .anchors = std::move(anchors),
          .cell_major = true,
          .columns = {{kBox, 4}, {kMore, points, "", false, true}, {kScore, 1}},
          .draw_box = [](Chance& chance, const Place&) -> std::vector<double> {
            return {between(chance, -20, 20), between(chance, -20, 20), between(chance, 4, 90),
                    between(chance, 4, 90)};
          },
          .draw_scores = [](Chance& chance, bool hot) -> Scores {
            return {hot ? between(chance, -1, 5) : between(chance, -150, -5)};
          },
          .box =
              [](const Numbers& n, const Place& at) {
                return centered(n[kBox][0] + (double(at.x) + 0.5) / double(at.columns) * at.width,
                                n[kBox][1] + (double(at.y) + 0.5) / double(at.rows) * at.height,
                                n[kBox][2], n[kBox][3]);
              },
          .point_numbers = 2,
          .point =
              [](const Numbers& n, const Place& at, const Corners&, size_t first) {
                const Point p = as_it_is(n, first, 2);
                return Point{p.x + (double(at.x) + 0.5) / double(at.columns) * at.width,
                             p.y + (double(at.y) + 0.5) / double(at.rows) * at.height};
              },
          .scores = activated_clipped,
          .forms = {{.input = input},
                    {.order = kFlat, .input = input},
                    {.input = input, .type = DataType::kFloat16},
                    {.input = input, .type = DataType::kInt16}}};
}

std::vector<Form> maps() {
  return {{.order = kMaps, .input = {160, 96}},
          {.order = kPixels, .input = {160, 96}},
          {.order = kMaps, .input = {152, 100}},
          {.order = kMaps, .input = {160, 96}, .type = DataType::kFloat16},
          {.order = kMaps, .input = {160, 96}, .type = DataType::kInt8},
          {.order = kPixels, .input = {160, 96}, .type = DataType::kUInt8}};
}

/// Sizes and offsets are y first, sizes are logarithms; centres count from the middle of a cell.
Model centerface() {
  Model out{.family = "centerface",
            .strides = {4},
            .columns = {{kScore, 1}, {kSide, 2}, {kBox, 2}, {kMore, 10, "", true}},
            .draw_box = [](Chance& chance, const Place&) -> std::vector<double> {
              return {between(chance, -0.5, 0.5), between(chance, -0.5, 0.5)};
            },
            .draw_scores = draw_one,
            .draw_side = [](Chance& chance) { return between(chance, 0, 2); },
            .box =
                [](const Numbers& n, const Place& at) {
                  return centered((double(at.x) + n[kBox][1] + 0.5) * 4,
                                  (double(at.y) + n[kBox][0] + 0.5) * 4, std::exp(n[kSide][1]) * 4,
                                  std::exp(n[kSide][0]) * 4);
                },
            .point_numbers = 2,
            .point =
                [](const Numbers& n, const Place&, const Corners& box, size_t first) {
                  const Point p = as_it_is(n, first, 2);  // y first, in fractions of the box
                  return Point{box[0] + p.y * (box[2] - box[0]), box[1] + p.x * (box[3] - box[1])};
                },
            .scores = as_they_are,
            .forms = maps()};
  out.forms.push_back({.order = kMaps, .input = {160, 96}, .optional = false});
  return out;
}

Model centernet() {
  Model out{.family = "centernet",
            .strides = {4},
            .columns = {{kScore, 8, "hm"}, {kSide, 2, "wh"}, {kBox, 2, "reg"}},
            .draw_box = [](Chance& chance, const Place&) -> std::vector<double> {
              return {between(chance, 0, 1), between(chance, 0, 1)};
            },
            .draw_scores = [](Chance& chance, bool hot) { return draw_logits(chance, 8, hot); },
            .draw_side = [](Chance& chance) { return between(chance, 1, 12); },
            .box =
                [](const Numbers& n, const Place& at) {
                  return centered((double(at.x) + n[kBox][0]) * 4, (double(at.y) + n[kBox][1]) * 4,
                                  n[kSide][0] * 4, n[kSide][1] * 4);
                },
            .scores = activated,
            .multi_label = true,
            .peaks = true,
            .forms = maps()};
  out.forms.push_back({.order = kMaps, .input = {160, 96}, .multi_label = false});
  return out;
}

}  // namespace

std::vector<Model> face_models() {
  return {scrfd(),
          yunet(),
          mediapipe("blazeface", 128, 12, {8, 16}, {2, 6}),
          mediapipe("blazeface-back", 256, 12, {16, 32}, {2, 6}),
          mediapipe("blazeface-full", 192, 12, {4}, {1}),
          mediapipe("palm", 192, 14, {8, 16}, {2, 6}),
          mediapipe("palm-256", 256, 14, {8, 16, 32}, {2, 2, 6}),
          mediapipe("pose-detector", 224, 8, {8, 16, 32}, {2, 2, 6}),
          centerface(),
          centernet()};
}

}  // namespace keepbox::test
