// SPDX-License-Identifier: LGPL-2.1-or-later
// Box codings and activations: the formulas from raw values to boxes, shared by all backends.
#pragma once

#include <cstdint>

#include "core/formula/box.h"
#include "core/formula/conventions.h"
#include "core/formula/numeric.h"

namespace keepbox {

/// Prior box, in fractions of the model input.
struct Prior {
  float cx, cy, width, height;
  friend constexpr bool operator==(const Prior&, const Prior&) = default;
};

/// Anchors that share one grid: those of a pyramid level, or one anchor per cell of a level.
struct Level {
  uint32_t first_anchor = 0;
  uint32_t width = 1;            // cells
  uint32_t cell_anchors = 1;     // consecutive anchors per cell
  uint32_t first_size = 0;       // index in sizes of the first of these anchors
  float stride = 0;              // input pixels
  float xy_scale = 1;            // kGridDarknet
  float step_x = 0, step_y = 0;  // kDistances, kDistanceBins: cell pitch in input pixels
  friend constexpr bool operator==(const Level&, const Level&) = default;
};

/// Lookup tables of the codings.
struct BoxTables {
  const Prior* priors = nullptr;      // one per anchor; kPriorDelta
  const Level* levels = nullptr;      // BoxRules::level_count levels
  const AnchorSize* sizes = nullptr;  // indexed by levels, input pixels; kGridSigmoid, kGridDarknet
};

/// Rules to decode a box: plain data, the same on every device.
struct BoxRules {
  BoxCoding coding = BoxCoding::kCenterSize;
  bool yx = false;                // values are y first
  uint8_t bins = 1;               // kDistanceBins: bins per side
  float scale[4] = {1, 1, 1, 1};  // factors of the raw values, x first
  float cell_offset = 0;          // added to a cell's column and row
  float delta_limit = 0;          // maximum of log sizes; 0: none
  float unit_x = 1, unit_y = 1;   // from decoded coordinates to model pixels
  uint32_t level_count = 0;       // only for codings with cells
  friend constexpr bool operator==(const BoxRules&, const BoxRules&) = default;
};

/// Rules to compute scores.
struct ScoreRules {
  ScoreRule rule = ScoreRule::kClass;
  Activation activation = Activation::kNone;
  float logit_limit = 0;  // logits are clamped to +-logit_limit; 0: not clamped
  friend constexpr bool operator==(const ScoreRules&, const ScoreRules&) = default;
};

/// Returns the probability for a logit, or the value unchanged for softmax and activated scores.
KB_HD_NOINLINE inline float activate(const ScoreRules& rules, float logit) {
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

/// Position of an anchor on its grid.
struct Cell {
  float x, y;  // column and row plus the cell offset
  uint32_t level;
  uint32_t anchor;  // index within the cell
  uint32_t column, row;
};

KB_HD inline Cell cell_of(const BoxRules& rules, const Level* levels, uint32_t anchor) {
  uint32_t l = 0;
  while (l + 1 < rules.level_count && anchor >= levels[l + 1].first_anchor) ++l;
  const Level& level = levels[l];
  const uint32_t number = anchor - level.first_anchor, cell = number / level.cell_anchors;
  const uint32_t column = cell % level.width, row = cell / level.width;
  return {static_cast<float>(column) + rules.cell_offset,
          static_cast<float>(row) + rules.cell_offset,
          l,
          number % level.cell_anchors,
          column,
          row};
}

/// Puts the values in x first order and scales them.
KB_HD inline void arrange(const BoxRules& rules, float (&v)[4]) {
  if (rules.yx) {
    const float y = v[0], h = v[2];
    v[0] = v[1], v[1] = y, v[2] = v[3], v[3] = h;
  }
  for (int i = 0; i < 4; ++i) v[i] = v[i] * rules.scale[i];
}

/// Decodes boxes relative to cells; for the formulas see BoxCoding. @pre has_cells(rules.coding)
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
    case BoxCoding::kGridExp: break;
    case BoxCoding::kCenterSize:
    case BoxCoding::kCorners:
    case BoxCoding::kTopLeftSize:
    case BoxCoding::kPriorDelta: break;  // without cells
  }
  return from_center((v[0] + cell.x) * stride, (v[1] + cell.y) * stride, exp_f32(v[2]) * stride,
                     exp_f32(v[3]) * stride);
}

/// Returns the log size, clamped to the limit.
KB_HD inline float limited(const BoxRules& rules, float delta) {
  return rules.delta_limit > 0 && delta > rules.delta_limit ? rules.delta_limit : delta;
}

/// Decodes SSD deltas: moves the prior's centre by fractions of its size, scales its size by e^t.
KB_HD inline Box by_prior(const BoxRules& rules, const Prior& prior, const float (&v)[4]) {
  return from_center((v[0] * prior.width + prior.cx) * rules.unit_x,
                     (v[1] * prior.height + prior.cy) * rules.unit_y,
                     exp_f32(limited(rules, v[2])) * prior.width * rules.unit_x,
                     exp_f32(limited(rules, v[3])) * prior.height * rules.unit_y);
}

/// Decodes four raw values to a box in model pixels.
KB_HD_NOINLINE inline Box decode_box(const BoxRules& rules, const BoxTables& tables,
                                     uint32_t anchor, float a, float b, float c, float d) {
  float v[4] = {a, b, c, d};
  arrange(rules, v);
  const float ux = rules.unit_x, uy = rules.unit_y;
  switch (rules.coding) {
    case BoxCoding::kCorners: return {v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy};
    case BoxCoding::kTopLeftSize:
      return {v[0] * ux, v[1] * uy, (v[0] + v[2]) * ux, (v[1] + v[3]) * uy};
    case BoxCoding::kPriorDelta: return by_prior(rules, tables.priors[anchor], v);
    case BoxCoding::kCenterSize: return from_center(v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy);
    case BoxCoding::kGridExp:
    case BoxCoding::kGridSize:
    case BoxCoding::kGridPixels:
    case BoxCoding::kGridSigmoid:
    case BoxCoding::kGridDarknet:
    case BoxCoding::kDistances:
    case BoxCoding::kDistanceBins: break;
  }
  return on_grid(rules, tables, anchor, v);
}

KB_HD inline bool finite(const Box& b) {
  return is_finite(b.x1) && is_finite(b.y1) && is_finite(b.x2) && is_finite(b.y2);
}

/// Returns a class id stored as a float, or kMaxClasses if it is not a valid one.
KB_HD inline uint32_t class_of(float id) {
  const bool sensible = id >= 0.0f && id < static_cast<float>(kMaxClasses);  // false for NaN
  return sensible ? static_cast<uint32_t>(id) : kMaxClasses;
}

/// Returns the number of filled rows as reported by the model, at most `anchors`.
KB_HD inline uint32_t filled_rows(float count, uint32_t anchors) {
  if (!(count > 0.0f)) return 0;
  return count < static_cast<float>(anchors) ? static_cast<uint32_t>(count) : anchors;
}

}  // namespace keepbox
