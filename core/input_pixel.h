// SPDX-License-Identifier: LGPL-2.1-or-later
// One pixel of a model's input: the arithmetic that all backends call, in one order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/element.h"
#include "core/numeric.h"

namespace keepbox {

/// The two samples that a place between them is blended from: (1 - part) of `first`, part of the
/// `next`, which at the border is the same, with a part of 0.
struct Tap {
  int32_t first, next;
  float part;  // 0..1
};

/// How components become an input's numbers.
struct PixelRules {
  float matrix[3][4] = {};                // rows are the channels in their order; with one: R, G, B
  float mean[3] = {}, deviation[3] = {};  // per channel: value = (colour - mean) / deviation
  float padding[3] = {};                  // by channel: the number beside the picture
  DataType type = DataType::kFloat32;     // or kFloat16, kUInt8
  uint32_t channels = 3;                  // or 1
  size_t pixel_step = 1, channel_step = 0;  // numbers from one to the next
};

KB_HD inline float blend(float a, float b, float part) { return a + (b - a) * part; }

/// A component between four samples.
/// @param top, bottom its first samples of two rows. @param step bytes from sample to sample.
KB_HD inline float sample(const uint8_t* top, const uint8_t* bottom, uint32_t step,
                          const Tap& column, float row_part) {
  const ptrdiff_t first = static_cast<ptrdiff_t>(column.first) * step;
  const ptrdiff_t next = static_cast<ptrdiff_t>(column.next) * step;
  return blend(blend(top[first], top[next], column.part),
               blend(bottom[first], bottom[next], column.part), row_part);
}

/// One colour of three components, in 0..255.
KB_HD inline float colour(const float (&row)[4], float c0, float c1, float c2) {
  const float value = ((row[0] * c0 + row[1] * c1) + row[2] * c2) + row[3];
  const float positive = value > 0.0f ? value : 0.0f;
  return positive < 255.0f ? positive : 255.0f;
}

KB_HD inline float luma(float r, float g, float b) {
  return (0.299f * r + 0.587f * g) + 0.114f * b;
}

/// The numbers of a pixel's channels. @param out `rules.channels` of them.
KB_HD inline void to_channels(const PixelRules& rules, float c0, float c1, float c2, float* out) {
  float colours[3];
  for (uint32_t i = 0; i < 3; ++i) colours[i] = colour(rules.matrix[i], c0, c1, c2);
  if (rules.channels == 1) colours[0] = luma(colours[0], colours[1], colours[2]);
  for (uint32_t i = 0; i < rules.channels; ++i)
    out[i] = (colours[i] - rules.mean[i]) / rules.deviation[i];
}

/// A number in the input's type; for integers rounded half up, and clamped.
KB_HD inline void store_number(float* to, float number) { *to = number; }
KB_HD inline void store_number(uint16_t* to, float number) { *to = float_to_half(number); }
KB_HD inline void store_number(uint8_t* to, float number) {
  const float positive = number > 0.0f ? number : 0.0f;
  *to = static_cast<uint8_t>((positive < 255.0f ? positive : 255.0f) + 0.5f);
}

}  // namespace keepbox
