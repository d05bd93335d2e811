// SPDX-License-Identifier: LGPL-2.1-or-later
// Building blocks of input families: random values, rows of boxes.
#pragma once

#include <algorithm>

#include "tests/parity/families.h"

namespace keepbox::test {

inline constexpr uint32_t kWidth = 96, kHeight = 64;  // of models with levels

inline float uniform(Random& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}
inline int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline Input ready(std::vector<Row> list, float iou = 0.45f) {
  Input input{.tensors = {rows(list)}};
  input.settings.nms_method = NmsMethod::kGreedy;
  input.settings.iou_threshold = iou;
  return input;
}

/// Clusters of overlapping boxes, as written by detectors.
inline std::vector<Row> clusters(Random& random, int objects, int each, int classes) {
  std::vector<Row> out;
  for (int o = 0; o < objects; ++o) {
    const float x = uniform(random, 0, 560), y = uniform(random, 0, 560);
    const float w = uniform(random, 15, 120), h = uniform(random, 15, 120);
    for (int i = 0; i < each; ++i) {
      const float dx = uniform(random, -0.3f, 0.3f) * w, dy = uniform(random, -0.3f, 0.3f) * h;
      out.push_back({x + dx, y + dy, x + dx + w, y + dy + h, uniform(random, 0.1f, 1),
                     float(pick(random, 0, classes - 1))});
    }
  }
  return out;
}

inline float iou_of(const Row& a, const Row& b) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const float common = w * h;
  return common / ((((a.x2 - a.x1) * (a.y2 - a.y1)) + (b.x2 - b.x1) * (b.y2 - b.y1)) - common);
}

/// Draws a method that changes scores or boxes, or uses another measure.
NmsMethod other_method(Random& random);

Input forced(const char* detector, Tensor tensor, uint32_t side);

/// Random planes or rows of `channels` values, boxes first; mostly below the threshold.
Tensor dense(Random& random, size_t anchors, size_t channels, size_t scores_at, bool planes,
             float span);

/// Deltas of an SSD, logits up to +-span, and priors.
Input split(Random& random, const char* detector, float span);

/// Return the families for methods of suppression, for many candidates, for filters, for heads, for
/// lists, for oriented boxes, for keypoints and masks, for tiles, and for types and values;
/// families() ends with them.
std::span<const Family> method_families();
std::span<const Family> crowd_families();
std::span<const Family> filter_families();
std::span<const Family> head_families();
std::span<const Family> list_families();
std::span<const Family> oriented_families();
std::span<const Family> payload_families();
std::span<const Family> tile_families();
std::span<const Family> value_families();

}  // namespace keepbox::test
