// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixels of a model's input, sampled from a frame or from a cut-out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/formula/numeric.h"

namespace keepbox {

// Arithmetic of one input pixel, shared by all backends, in one fixed order.

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

/// Calls `make` with a value of the input's type.
template <class Make>
void with_input_type(DataType type, const Make& make) {
  if (type == DataType::kFloat16) make(uint16_t{});
  else if (type == DataType::kUInt8) make(uint8_t{});
  else make(float{});
}

// Arithmetic of a crop's pixels, shared by all backends, in one fixed order.

/// Position in the frame, in pixels; the centre of the first pixel is 0.5, 0.5.
struct CropPoint {
  float x, y;
};

/// Affine map from the model input to the frame, both in pixels:
/// x = (xu u + xv v) + x0, y = (yu u + yv v) + y0.
struct CropMap {
  float xu = 1, xv = 0, x0 = 0;
  float yu = 0, yv = 1, y0 = 0;

  KB_HD constexpr CropPoint operator()(float u, float v) const {
    return {(xu * u + xv * v) + x0, (yu * u + yv * v) + y0};
  }
  friend constexpr bool operator==(const CropMap&, const CropMap&) = default;
};

/// Returns the position of a pixel's centre. @param column, row of the model input.
KB_HD inline CropPoint crop_point(const CropMap& map, uint32_t column, uint32_t row) {
  return map(static_cast<float>(column) + 0.5f, static_cast<float>(row) + 0.5f);
}

/// True if a frame of that size has a pixel there; false for NaN.
KB_HD inline bool has_pixel(float width, float height, const CropPoint& at) {
  return at.x >= 0 && at.x <= width && at.y >= 0 && at.y <= height;
}

/// Returns the samples of a component around a position on one axis. @param at 0 to the size of the
/// frame. @param sub, shift of FrameComponent. @param samples along the axis, at least 1.
KB_HD inline Tap crop_tap(float at, uint8_t sub, float shift, uint32_t samples) {
  const float position = at / static_cast<float>(sub) - shift;
  int32_t first = static_cast<int32_t>(position);
  if (static_cast<float>(first) > position) --first;
  const auto last = static_cast<int32_t>(samples) - 1;
  if (first < 0) return {0, 0, 0.0f};
  if (first >= last) return {last, last, 0.0f};
  return {first, first + 1, position - static_cast<float>(first)};
}

}  // namespace keepbox
