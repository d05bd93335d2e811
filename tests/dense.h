// SPDX-License-Identifier: LGPL-2.1-or-later
// Dense tensors as YOLO models of one anchor a cell write them, with what follows the class scores.
#pragma once

#include <functional>
#include <random>

#include "tests/scene.h"

namespace keepbox::test {

/// A number of an anchor's payload. @param channel counts from the first behind the class scores.
using PayloadNumber = std::function<float(size_t channel, std::mt19937& random)>;

inline float uniform_number(std::mt19937& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random() % 65536) / 65535;
}

inline float mask_coefficient(size_t, std::mt19937& random) {
  return uniform_number(random, -4, 9);
}
/// As Ultralytics gives it: a quarter turn back to three quarters on.
inline float angle(size_t, std::mt19937& random) {
  return uniform_number(random, -0.785f, 2.356f);
}
/// x, y in pixels and a visibility.
inline float keypoint(size_t channel, std::mt19937& random) {
  return channel % 3 == 2 ? uniform_number(random, 0, 1) : uniform_number(random, -5, 640);
}

struct Dense {
  size_t anchors = 8400, classes = 1, payload = 0;
  PayloadNumber number = mask_coefficient;
  bool rows = false;  // an anchor's numbers side by side
};

inline Tensor dense(const Dense& want, unsigned seed = 1) {
  std::mt19937 random(seed);
  const size_t channels = 4 + want.classes + want.payload;
  Tensor out{.values = std::vector<float>(channels * want.anchors),
             .shape = want.rows ? Shape{1, want.anchors, channels}
                                : Shape{1, channels, want.anchors}};
  for (size_t anchor = 0; anchor < want.anchors; ++anchor)
    for (size_t channel = 0; channel < channels; ++channel) {
      float value = uniform_number(random, 0, channel < 2 ? 640.0f : 100.0f);
      if (channel >= 4) value = uniform_number(random, 0, anchor % 50 == 0 ? 1.0f : 0.1f);
      if (channel >= 4 + want.classes) value = want.number(channel - 4 - want.classes, random);
      out.values[want.rows ? anchor * channels + channel : channel * want.anchors + anchor] = value;
    }
  return out;
}

/// Prototypes of masks, all zero.
inline Tensor prototypes(size_t count, size_t side) {
  return {.values = std::vector<float>(count * side * side), .shape = {1, count, side, side}};
}

}  // namespace keepbox::test
