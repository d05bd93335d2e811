// SPDX-License-Identifier: LGPL-2.1-or-later
// Input families, each named after the bug that it detects.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "tests/scene.h"

namespace keepbox::test {

using Random = std::mt19937;

/// Settings and tensors of one frame (or batch).
struct Input {
  Settings settings = pixel_settings();
  std::vector<Tensor> tensors;
  size_t shift = 0;  // bytes of misalignment of tensor data
};

struct Family {
  const char* name;
  const char* hunts;
  Input (*make)(Random& random);
  unsigned share = 1;  // one in `share` seeds is used, for large inputs
};

std::span<const Family> families();

/// A crowded frame with that many anchors for benchmarks: 84 planes as YOLOv8's, or 85 columns.
Input crowd(Random& random, bool planes, size_t anchors);

}  // namespace keepbox::test
