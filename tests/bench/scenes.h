// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames as detectors make them, for timing.
#pragma once

#include <cstddef>
#include <random>

#include "tests/scene.h"

namespace keepbox::test {

/// What a frame holds besides noise below the threshold.
struct SceneSize {
  size_t objects = 40;
  size_t boxes_each = 25;  // overlapping candidates of one object
  size_t alarms = 200;     // single wrong ones, scores 0.01 .. 0.3
};

/// YOLOv8 planes 1 x 84 x anchors or YOLOv5 rows 1 x anchors x 85, pixels of a 640 x 640 input.
Tensor scene(std::mt19937& random, bool planes, size_t anchors, const SceneSize& size);

}  // namespace keepbox::test
