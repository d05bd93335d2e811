// SPDX-License-Identifier: LGPL-2.1-or-later
// Families of inputs, each named by the bug that it hunts.
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
  size_t shift = 0;  // bytes by which tensor data is put off its alignment
};

struct Family {
  const char* name;
  const char* hunts;
  Input (*make)(Random& random);
  unsigned share = 1;  // of the seeds one in so many is enough: its inputs are large
};

std::span<const Family> families();

/// A crowded frame of that many anchors for timing: 84 planes as YOLOv8's, or 85 columns.
Input crowd(Random& random, bool planes, size_t anchors);

}  // namespace keepbox::test
