// SPDX-License-Identifier: LGPL-2.1-or-later
// Arithmetic of a crop's pixels, shared by all backends, in one fixed order.
#pragma once

#include <cstdint>

#include "core/formula/input_pixel.h"

namespace keepbox {

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
