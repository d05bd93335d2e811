// SPDX-License-Identifier: LGPL-2.1-or-later
// Arithmetic of one input pixel, shared by all backends, in one fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/formula/data_type.h"
#include "core/formula/numeric.h"

namespace keepbox {

/// Linear interpolation between two samples: (1 - part) of `first`, part of `next`. At the border
/// both are the same sample and part is 0.
struct Tap {
  int32_t first, next;
  float weight;  // 0..1
};

/// Rules from colour components to input values.
struct PixelRules {
  float matrix[3][4] = {};                  // a row per channel in order; for one channel R, G, B
  float mean[3] = {}, deviation[3] = {};    // per channel: value = (colour - mean) / deviation
  float padding[3] = {};                    // per channel: value of the padding
  DataType type = DataType::kFloat32;       // or kFloat16, kUInt8
  uint32_t channels = 3;                    // or 1
  size_t pixel_step = 1, channel_step = 0;  // in values
};

KB_HD inline float blend(float a, float b, float weight) { return a + (b - a) * weight; }

/// Interpolates a component between four samples.
/// @param top, bottom first samples of the two rows. @param step bytes between samples.
KB_HD inline float sample(const uint8_t* top, const uint8_t* bottom, uint32_t step,
                          const Tap& column, float row_weight) {
  const ptrdiff_t first = static_cast<ptrdiff_t>(column.first) * step;
  const ptrdiff_t next = static_cast<ptrdiff_t>(column.next) * step;
  return blend(blend(top[first], top[next], column.weight),
               blend(bottom[first], bottom[next], column.weight), row_weight);
}

/// Returns one colour from three components, in 0..255.
KB_HD inline float colour(const float (&row)[4], float c0, float c1, float c2) {
  const float value = ((row[0] * c0 + row[1] * c1) + row[2] * c2) + row[3];
  const float positive = value > 0.0f ? value : 0.0f;
  return positive < 255.0f ? positive : 255.0f;
}

KB_HD inline float luma(float r, float g, float b) {
  return (0.299f * r + 0.587f * g) + 0.114f * b;
}

/// Computes the values of a pixel's channels. @param out `rules.channels` values.
KB_HD inline void to_channels(const PixelRules& rules, float c0, float c1, float c2, float* out) {
  float colours[3];
  for (uint32_t i = 0; i < 3; ++i) colours[i] = colour(rules.matrix[i], c0, c1, c2);
  if (rules.channels == 1) colours[0] = luma(colours[0], colours[1], colours[2]);
  for (uint32_t i = 0; i < rules.channels; ++i)
    out[i] = (colours[i] - rules.mean[i]) / rules.deviation[i];
}

/// Stores a value in the input's type; integers are rounded half up and clamped.
KB_HD inline void store_value(float* to, float value) { *to = value; }
KB_HD inline void store_value(uint16_t* to, float value) { *to = float_to_half(value); }
KB_HD inline void store_value(uint8_t* to, float value) {
  const float positive = value > 0.0f ? value : 0.0f;
  *to = static_cast<uint8_t>((positive < 255.0f ? positive : 255.0f) + 0.5f);
}

}  // namespace keepbox
