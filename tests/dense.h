// SPDX-License-Identifier: LGPL-2.1-or-later
// Dense tensors in the layout of YOLO models with one anchor per cell, with a payload per anchor.
#pragma once

#include <functional>
#include <random>

#include "tests/scene.h"

namespace keepbox::test {

/// Returns one number of an anchor's payload. @param channel 0 is the first after the class scores.
using PayloadNumber = std::function<float(size_t channel, std::mt19937& random)>;

inline float uniform_number(std::mt19937& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random() % 65536) / 65535;
}

inline float mask_coefficient(size_t, std::mt19937& random) {
  return uniform_number(random, -4, 9);
}
/// Returns an angle in Ultralytics' range, from -pi/4 to 3 pi/4.
inline float angle(size_t, std::mt19937& random) { return uniform_number(random, -0.785f, 2.356f); }
/// Returns x or y in pixels, or a visibility.
inline float keypoint(size_t channel, std::mt19937& random) {
  return channel % 3 == 2 ? uniform_number(random, 0, 1) : uniform_number(random, -5, 640);
}

struct Dense {
  size_t anchors = 8400, classes = 1, payload = 0;
  PayloadNumber number = mask_coefficient;
  bool rows = false;  // the numbers of an anchor are adjacent
};

inline Tensor dense(const Dense& want, unsigned seed = 1) {
  std::mt19937 random(seed);
  const size_t channels = 4 + want.classes + want.payload;
  Tensor out{
      .values = std::vector<float>(channels * want.anchors),
      .shape = want.rows ? Shape{1, want.anchors, channels} : Shape{1, channels, want.anchors}};
  for (size_t anchor = 0; anchor < want.anchors; ++anchor)
    for (size_t channel = 0; channel < channels; ++channel) {
      float value = uniform_number(random, 0, channel < 2 ? 640.0f : 100.0f);
      if (channel >= 4) value = uniform_number(random, 0, anchor % 50 == 0 ? 1.0f : 0.1f);
      if (channel >= 4 + want.classes) value = want.number(channel - 4 - want.classes, random);
      out.values[want.rows ? anchor * channels + channel : channel * want.anchors + anchor] = value;
    }
  return out;
}

/// Mask prototypes, all zero.
inline Tensor prototypes(size_t count, size_t side) {
  return {.values = std::vector<float>(count * side * side), .shape = {1, count, side, side}};
}

}  // namespace keepbox::test
