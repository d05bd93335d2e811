// SPDX-License-Identifier: LGPL-2.1-or-later
// From an anchor's numbers to its score and its box: the formulas that every backend calls.
#pragma once

#include <cstdint>

#include "core/box.h"
#include "core/detector.h"
#include "core/numeric.h"

namespace keepbox {

/// An anchor box that a delta refers to, in fractions of the model's input.
struct Prior {
  float cx, cy, width, height;
};

/// A pyramid level of a grid family.
struct Level {
  uint32_t first_anchor = 0;
  uint32_t width = 0;  // cells
  float stride = 0;    // input pixels
};

inline constexpr uint32_t kMaxLevels = 5;

/// How the numbers of a box are read: plain data, the same on every device.
struct BoxRules {
  BoxCoding coding = BoxCoding::kCenterSize;
  float scale[4] = {1, 1, 1, 1};  // the raw numbers times this
  float cell_offset = 0;          // added to a cell's index to reach its centre
  float unit_x = 1, unit_y = 1;   // decoded coordinates times this are model pixels
  uint32_t level_count = 0;       // grid codings only
  Level levels[kMaxLevels];
};

/// How scores are read.
struct ScoreRules {
  ScoreRule rule = ScoreRule::kClass;
  Activation activation = Activation::kNone;
  float logit_limit = 0;  // logits are clamped to +- this first; 0: they are not
};

/// A probability of a logit; for softmax, and where the model did it, the number itself.
KB_HD_CALLED inline float activate(const ScoreRules& rules, float logit) {
  if (rules.activation != Activation::kSigmoid) return logit;
  if (rules.logit_limit > 0) {
    if (logit > rules.logit_limit) logit = rules.logit_limit;
    if (logit < -rules.logit_limit) logit = -rules.logit_limit;
  }
  return sigmoid(logit);
}

KB_HD inline Box from_center(float cx, float cy, float w, float h) {
  const float half_w = w * 0.5f, half_h = h * 0.5f;
  return {cx - half_w, cy - half_h, cx + half_w, cy + half_h};
}

/// YOLOX: ((x + column) * stride, (y + row) * stride, e^w * stride, e^h * stride).
KB_HD inline Box on_grid(const BoxRules& rules, uint32_t anchor, const float (&v)[4]) {
  uint32_t l = 0;
  while (l + 1 < rules.level_count && anchor >= rules.levels[l + 1].first_anchor) ++l;
  const Level& level = rules.levels[l];
  const uint32_t cell = anchor - level.first_anchor;
  const float x = static_cast<float>(cell % level.width) + rules.cell_offset;
  const float y = static_cast<float>(cell / level.width) + rules.cell_offset;
  return from_center((v[0] + x) * level.stride, (v[1] + y) * level.stride,
                     exp_f32(v[2]) * level.stride, exp_f32(v[3]) * level.stride);
}

/// SSD: the prior's centre moved by fractions of its size, its size times e^t.
KB_HD inline Box by_prior(const BoxRules& rules, const Prior& prior, float tx, float ty, float tw,
                          float th) {
  return from_center(
      (tx * prior.width + prior.cx) * rules.unit_x, (ty * prior.height + prior.cy) * rules.unit_y,
      exp_f32(tw) * prior.width * rules.unit_x, exp_f32(th) * prior.height * rules.unit_y);
}

/// The box in model pixels of its four numbers. @param priors one for each anchor, for the codings
/// that have them.
KB_HD_CALLED inline Box decode_box(const BoxRules& rules, const Prior* priors, uint32_t anchor,
                                   float a, float b, float c, float d) {
  const float v[4] = {a * rules.scale[0], b * rules.scale[1], c * rules.scale[2],
                      d * rules.scale[3]};
  const float ux = rules.unit_x, uy = rules.unit_y;
  switch (rules.coding) {
    case BoxCoding::kCorners:
      return {v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy};
    case BoxCoding::kCornersYX:
      return {v[1] * ux, v[0] * uy, v[3] * ux, v[2] * uy};
    case BoxCoding::kGridExp:
      return on_grid(rules, anchor, v);
    case BoxCoding::kPriorDelta:
      return by_prior(rules, priors[anchor], v[1], v[0], v[3], v[2]);
    case BoxCoding::kPriorDeltaXY:
      return by_prior(rules, priors[anchor], v[0], v[1], v[2], v[3]);
    default:
      return from_center(v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy);
  }
}

KB_HD inline bool finite(const Box& b) {
  return is_finite(b.x1) && is_finite(b.y1) && is_finite(b.x2) && is_finite(b.y2);
}

/// A class id that a tensor holds as a number; kMaxClasses when it is none.
KB_HD inline uint32_t class_of(float id) {
  const bool sensible = id >= 0.0f && id < static_cast<float>(kMaxClasses);  // false for NaN
  return sensible ? static_cast<uint32_t>(id) : kMaxClasses;
}

/// Of `anchors` rows, those that a model says are filled.
KB_HD inline uint32_t filled_rows(float count, uint32_t anchors) {
  if (!(count > 0.0f)) return 0;
  return count < static_cast<float>(anchors) ? static_cast<uint32_t>(count) : anchors;
}

}  // namespace keepbox
