// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of families other than decoded planes and rows, for timing.
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

/// Returns raw heads with anchors and with bins, a heat map, int8 planes, several classes per
/// anchor, poses, 100 boxes with and without masks, and oriented boxes with both overlap measures,
/// for 640x640 inputs (heat map: 512x512; oriented boxes: 1024x1024), at score > 0.25. @param count
/// number of frames of each.
std::vector<FamilyFrames> family_frames(size_t count);

}  // namespace keepbox::test
