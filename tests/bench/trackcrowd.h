// SPDX-License-Identifier: LGPL-2.1-or-later
// Crowds for the measurements of trackers.
#pragma once

#include <cmath>
#include <vector>

#include "tests/unit/track/crowd.h"

namespace keepbox {

/// Returns frames of people with the space of a busy square: 100 of them on 1920 x 1080.
inline std::vector<std::vector<test::CrowdBox>> crowd_frames(int people, int frames) {
  const float side = 144 * std::sqrt(static_cast<float>(people));
  test::Crowd crowd(people, 1, side);
  std::vector<std::vector<test::CrowdBox>> out;
  for (int i = 0; i < frames; ++i) out.push_back(crowd.next(0.1f, 2));
  return out;
}

}  // namespace keepbox
