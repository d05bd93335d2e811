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

/// Anchors of a grid family that share one grid: a pyramid level's, or those of one of its anchors
/// a cell.
struct Level {
  uint32_t first_anchor = 0;
  uint32_t width = 1;       // cells
  uint32_t cell_anchors = 1;  // that follow each other
  uint32_t first_size = 0;  // in sizes: of the first of those
  float stride = 0;         // input pixels
  float xy_scale = 1;       // kGridDarknet
  float step_x = 0, step_y = 0;  // kDistances, kDistanceBins: from cell to cell, input pixels
};

/// What codings look up.
struct BoxTables {
  const Prior* priors = nullptr;      // one an anchor; kPriorDelta
  const Level* levels = nullptr;      // BoxRules::level_count of them
  const AnchorSize* sizes = nullptr;  // as the levels say; kGridSigmoid, kGridDarknet: input pixels
};

/// How the numbers of a box are read: plain data, the same on every device.
struct BoxRules {
  BoxCoding coding = BoxCoding::kCenterSize;
  bool yx = false;                // the numbers are y first
  uint8_t bins = 1;               // kDistanceBins: of each side
  float scale[4] = {1, 1, 1, 1};  // the raw numbers, x first, times this
  float cell_offset = 0;          // added to a cell's column and row
  float delta_limit = 0;          // of logarithms of sizes; 0: none
  float unit_x = 1, unit_y = 1;   // decoded coordinates times this are model pixels
  uint32_t level_count = 0;       // codings with cells only
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

/// Where an anchor is on its grid.
struct Cell {
  float x, y;  // column and row, the offset added
  uint32_t level;
  uint32_t anchor;  // of the cell's
  uint32_t column, row;
};

KB_HD inline Cell cell_of(const BoxRules& rules, const Level* levels, uint32_t anchor) {
  uint32_t l = 0;
  while (l + 1 < rules.level_count && anchor >= levels[l + 1].first_anchor) ++l;
  const Level& level = levels[l];
  const uint32_t number = anchor - level.first_anchor, cell = number / level.cell_anchors;
  const uint32_t column = cell % level.width, row = cell / level.width;
  return {static_cast<float>(column) + rules.cell_offset,
          static_cast<float>(row) + rules.cell_offset, l, number % level.cell_anchors, column, row};
}

/// The numbers' order put right, and the scale.
KB_HD inline void arrange(const BoxRules& rules, float (&v)[4]) {
  if (rules.yx) {
    const float y = v[0], h = v[2];
    v[0] = v[1], v[1] = y, v[2] = v[3], v[3] = h;
  }
  for (int i = 0; i < 4; ++i) v[i] = v[i] * rules.scale[i];
}

/// Codings with cells: the formulas stand at BoxCoding.
KB_HD inline Box on_grid(const BoxRules& rules, const BoxTables& tables, uint32_t anchor,
                         const float (&v)[4]) {
  const Cell cell = cell_of(rules, tables.levels, anchor);
  const Level& level = tables.levels[cell.level];
  const float stride = level.stride;
  const auto size = [&] { return tables.sizes[level.first_size + cell.anchor]; };
  switch (rules.coding) {
    case BoxCoding::kGridSize:
      return from_center((v[0] + cell.x) * stride, (v[1] + cell.y) * stride, v[2] * stride,
                         v[3] * stride);
    case BoxCoding::kGridPixels:
      return from_center(v[0] + cell.x * stride, v[1] + cell.y * stride, v[2], v[3]);
    case BoxCoding::kGridSigmoid: {
      const float w = 2 * sigmoid(v[2]), h = 2 * sigmoid(v[3]);
      return from_center((2 * sigmoid(v[0]) + (cell.x - 0.5f)) * stride,
                         (2 * sigmoid(v[1]) + (cell.y - 0.5f)) * stride, w * w * size().width,
                         h * h * size().height);
    }
    case BoxCoding::kGridDarknet: {
      const float xy = level.xy_scale, less = (xy - 1) * 0.5f;
      return from_center((sigmoid(v[0]) * xy - less + cell.x) * stride,
                         (sigmoid(v[1]) * xy - less + cell.y) * stride,
                         exp_f32(v[2]) * size().width, exp_f32(v[3]) * size().height);
    }
    case BoxCoding::kDistances:
    case BoxCoding::kDistanceBins: {
      const float x = cell.x * level.step_x, y = cell.y * level.step_y;
      return {x - v[0] * stride, y - v[1] * stride, x + v[2] * stride, y + v[3] * stride};
    }
    default:
      return from_center((v[0] + cell.x) * stride, (v[1] + cell.y) * stride,
                         exp_f32(v[2]) * stride, exp_f32(v[3]) * stride);
  }
}

/// The logarithm of a size, limited.
KB_HD inline float limited(const BoxRules& rules, float delta) {
  return rules.delta_limit > 0 && delta > rules.delta_limit ? rules.delta_limit : delta;
}

/// SSD: the prior's centre moved by fractions of its size, its size times e^t.
KB_HD inline Box by_prior(const BoxRules& rules, const Prior& prior, const float (&v)[4]) {
  return from_center((v[0] * prior.width + prior.cx) * rules.unit_x,
                     (v[1] * prior.height + prior.cy) * rules.unit_y,
                     exp_f32(limited(rules, v[2])) * prior.width * rules.unit_x,
                     exp_f32(limited(rules, v[3])) * prior.height * rules.unit_y);
}

/// The box in model pixels of its four numbers.
KB_HD_CALLED inline Box decode_box(const BoxRules& rules, const BoxTables& tables,
                                   uint32_t anchor, float a, float b, float c, float d) {
  float v[4] = {a, b, c, d};
  arrange(rules, v);
  const float ux = rules.unit_x, uy = rules.unit_y;
  switch (rules.coding) {
    case BoxCoding::kCorners:
      return {v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy};
    case BoxCoding::kTopLeftSize:
      return {v[0] * ux, v[1] * uy, (v[0] + v[2]) * ux, (v[1] + v[3]) * uy};
    case BoxCoding::kPriorDelta:
      return by_prior(rules, tables.priors[anchor], v);
    case BoxCoding::kCenterSize:
      return from_center(v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy);
    default:
      return on_grid(rules, tables, anchor, v);
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
