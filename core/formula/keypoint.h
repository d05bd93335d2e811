// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints: their rules, and the formulas from raw values to pixels.
#pragma once

#include <cstdint>

#include "core/formula/conventions.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Keypoint of a kept box, in pixels of the frame or the model; may be outside of the picture.
struct Keypoint {
  float x = 0, y = 0;
  float score = 1;  // as given by the model; 1 if it gives none
  friend constexpr bool operator==(const Keypoint&, const Keypoint&) = default;
};

/// Rules to decode keypoints.
struct KeypointRules {
  PointCoding coding = PointCoding::kBox;
  uint8_t values = 3;  // per keypoint: 2, or 3 with its score
  bool yx = false;
  bool clipped = false;  // to the frame
  uint16_t count = 0;    // per box; 0: no keypoints
  friend constexpr bool operator==(const KeypointRules&, const KeypointRules&) = default;
};

}  // namespace keepbox
