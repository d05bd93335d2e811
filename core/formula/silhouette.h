// SPDX-License-Identifier: LGPL-2.1-or-later
// Coverage of drawn silhouettes.
#pragma once

#include <cstdint>

namespace keepbox {

/// Maximum edge in pixels, to limit the time.
inline constexpr int kWidestEdge = 16;
/// Coverage of the object's pixels inside the edge, of 255; the edge has 255.
inline constexpr uint8_t kTintCover = 255 - 255 * 6 / 10;
/// Pixels by which smoothing exceeds the object.
inline constexpr int kSmoothingMargin = 1;

}  // namespace keepbox
