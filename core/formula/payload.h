// SPDX-License-Identifier: LGPL-2.1-or-later
// Payloads: values that a box carries in addition to its corners and score, such as keypoints.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/formula/keypoint.h"

namespace keepbox {

/// Mapping of a payload when its box is mapped to a frame, or the frame is scaled or moved.
enum class Moves : uint8_t {
  kFixed,     // unchanged: values of the object itself, such as an embedding
  kAsPoints,  // x, y and score of each keypoint: x and y are mapped
  kAsMask,    // coefficients of a mask, whose rectangle is mapped
};

/// A kind of payload.
struct PayloadKind {
  std::string_view name;
  Moves moves = Moves::kFixed;
  friend constexpr bool operator==(const PayloadKind&, const PayloadKind&) = default;
};

inline constexpr PayloadKind kKeypointPayload{"keypoints", Moves::kAsPoints};
inline constexpr PayloadKind kMaskPayload{"mask-coefficients", Moves::kAsMask};
inline constexpr PayloadKind kEmbeddingPayload{"embedding", Moves::kFixed};

/// Number of values of a keypoint: x, y and score.
inline constexpr uint32_t kPointValues = sizeof(Keypoint) / sizeof(float);
static_assert(sizeof(Keypoint) == kPointValues * sizeof(float));

}  // namespace keepbox
