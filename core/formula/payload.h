// SPDX-License-Identifier: LGPL-2.1-or-later
// Payloads: values that a box carries in addition to its corners and score, such as keypoints.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/formula/keypoint.h"

namespace keepbox {

/// The way in which a payload follows the picture to a frame, and from there to other pictures.
enum class Moves : uint8_t {
  kFixed,     // not at all: values of the object itself, such as an embedding
  kAsPoints,  // x, y and score of each keypoint: x and y move
  kAsMask,    // coefficients of a mask, whose area moves
};

/// A kind of payload.
struct PayloadKind {
  std::string_view name;
  Moves moves = Moves::kFixed;
};

inline constexpr PayloadKind kKeypointPayload{"keypoints", Moves::kAsPoints};
inline constexpr PayloadKind kMaskPayload{"mask-coefficients", Moves::kAsMask};
inline constexpr PayloadKind kEmbeddingPayload{"embedding", Moves::kFixed};

/// Number of values of a keypoint: x, y and score.
inline constexpr uint32_t kPointValues = sizeof(Keypoint) / sizeof(float);
static_assert(sizeof(Keypoint) == kPointValues * sizeof(float));

}  // namespace keepbox
