// SPDX-License-Identifier: LGPL-2.1-or-later
// Realistic frames, for timing.
#pragma once

#include <cstddef>
#include <random>

#include "tests/scene.h"

namespace keepbox::test {

struct Range {
  float low, high;
};

/// Contents of a frame besides noise.
struct SceneSize {
  size_t objects = 40;
  size_t boxes_each = 25;  // overlapping candidates per object
  size_t alarms = 200;     // single false detections
  Range object_scores{0.05f, 0.95f};
  Range alarm_scores{0.01f, 0.3f};
  bool quiet = true;  // noise stays below 0.001; otherwise 7 % of it is above, up to 0.0015
};

/// A frame of a crowded street: nearly all boxes of its 40 objects are above 0.25, and noise is not
/// quiet. About 1,100 candidates at 0.25, of which 160 are kept, and 2,900 at 0.001.
inline constexpr SceneSize kStreet{
    .object_scores = {0.3f, 0.97f}, .alarm_scores = {0.01f, 0.6f}, .quiet = false};

/// Returns YOLOv8 planes 1 x 84 x anchors or YOLOv5 rows 1 x anchors x 85, in pixels of a 640x640
/// input.
Tensor scene(std::mt19937& random, bool planes, size_t anchors, const SceneSize& size);

/// Converts to float16.
Tensor halved(Tensor tensor);

}  // namespace keepbox::test
