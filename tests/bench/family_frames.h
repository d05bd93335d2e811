// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of families beyond decoded planes and rows, for timing.
#pragma once

#include <string>
#include <vector>

#include "tests/scene.h"

namespace keepbox::test {

/// Frames of one family: 40 objects and noise far below them.
struct FamilyFrames {
  std::string name;
  Settings settings;
  std::vector<std::vector<Tensor>> frames;
};

/// Raw heads with anchors and with bins, a heat map, planes of int8, a box for each class, poses, 100
/// boxes with and without their masks, and turned boxes by both ways to overlap; of inputs of 640 x 640
/// (the heat map: 512 x 512; turned boxes: 1024 x 1024), at score > 0.25. @param count of frames each.
std::vector<FamilyFrames> family_frames(size_t count);

}  // namespace keepbox::test
