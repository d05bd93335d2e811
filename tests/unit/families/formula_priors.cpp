// SPDX-License-Identifier: LGPL-2.1-or-later
// Scales, ratios and positions of prior boxes.
#include "tests/unit/families/formula_priors.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace keepbox::test {
namespace {

/// torchvision's default boxes: s, sqrt(s s'), then w x h and h x w of each ratio, limited to the
/// input.
Prior64 default_box(const Place& at, double s, double next, double step_x, double step_y) {
  const double root = std::sqrt(at.anchor < 4 ? 2.0 : 3.0);
  double w = s, h = s;
  if (at.anchor == 1) w = h = std::sqrt(s * next);
  if (at.anchor >= 2) w = s * root, h = s / root;
  if (at.anchor >= 2 && at.anchor % 2 == 1) std::swap(w, h);
  return {(double(at.x) + 0.5) * step_x, (double(at.y) + 0.5) * step_y,
          std::clamp(w, 0.0, 1.0) * at.width, std::clamp(h, 0.0, 1.0) * at.height};
}

}  // namespace

/// SSD anchors of TensorFlow: scales 0.2 .. 0.95 of a 300x300 input, three sizes in the first
/// level.
Prior64 tensorflow_prior(const Place& at) {
  const auto scale = [](size_t k) { return k > 5 ? 1.0 : 0.2 + (0.95 - 0.2) * double(k) / 5; };
  const double ratios[]{1, 2, 0.5, 3, 1.0 / 3, 1}, s = scale(at.level);
  double side = at.anchor == 5 ? std::sqrt(s * scale(at.level + 1)) : s;
  if (at.level == 0 && at.anchor == 0) side = 0.1;
  const double root = std::sqrt(ratios[at.anchor]);
  return {(double(at.x) + 0.5) / double(at.columns) * at.width,
          (double(at.y) + 0.5) / double(at.rows) * at.height, side * root * at.width,
          side / root * at.height};
}

Prior64 ssd300_prior(const Place& at) {
  constexpr double kScales[]{0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05};
  return default_box(at, kScales[at.level], kScales[at.level + 1], at.stride, at.stride);
}

Prior64 ssdlite_prior(const Place& at) {
  const auto scale = [](size_t k) { return k > 5 ? 1.0 : 0.2 + 0.75 * double(k) / 5; };
  return default_box(at, scale(at.level), scale(at.level + 1), at.width / double(at.columns),
                     at.height / double(at.rows));
}

/// torchvision: truncated scaled sides, half sides rounded to even, integer distances between
/// cells.
Prior64 retinanet_prior(const Place& at) {
  const double side = std::floor(at.stride * 4 * std::pow(2.0, double(at.anchor % 3) / 3) + 1e-9);
  const double root = std::sqrt(std::array{0.5, 1.0, 2.0}[at.anchor / 3]);
  const auto rounded = [](double length) { return 2 * std::nearbyint(length / 2); };
  return {double(at.x) * std::floor(at.width / double(at.columns)),
          double(at.y) * std::floor(at.height / double(at.rows)), rounded(side / root),
          rounded(side * root)};
}

/// Three octaves with three shapes each.
Prior64 efficientdet_prior(const Place& at) {
  const double side = at.stride * 4 * std::pow(2.0, double(at.anchor / 3) / 3);
  constexpr double kShapes[3][2]{{1, 1}, {1.4, 0.7}, {0.7, 1.4}};
  const auto& shape = kShapes[at.anchor % 3];
  return {(double(at.x) + 0.5) * at.stride, (double(at.y) + 0.5) * at.stride, side * shape[0],
          side * shape[1]};
}

Prior64 retinaface_prior(const Place& at) {
  const double side = 16 * std::pow(2.0, double(at.level * 2 + at.anchor));
  return {(double(at.x) + 0.5) * at.stride, (double(at.y) + 0.5) * at.stride, side, side};
}

Prior64 plate_prior(const Place& at) {
  const double side = 24 * std::pow(2.0, double(at.level * 2 + at.anchor));
  return {(double(at.x) + 0.5) * at.stride, (double(at.y) + 0.5) * at.stride, side, side};
}

/// UltraFace: two or three squares per level, limited to the input.
Prior64 ultraface_prior(const Place& at) {
  constexpr double kSides[4][3]{{10, 16, 24}, {32, 48}, {64, 96}, {128, 192, 256}};
  const double side = kSides[at.level][at.anchor];
  return {(double(at.x) + 0.5) * at.stride, (double(at.y) + 0.5) * at.stride,
          std::min(side, at.width), std::min(side, at.height)};
}

}  // namespace keepbox::test
