// SPDX-License-Identifier: LGPL-2.1-or-later
// Points of boxes that were kept: joints of a body, landmarks of a face.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace keepbox {

/// A point of a kept box, in pixels of whatever picture the context names, or outside of it.
struct Keypoint {
  float x = 0, y = 0;
  float score = 1;  // as the model gives it; 1 where it gives none
  friend constexpr bool operator==(const Keypoint&, const Keypoint&) = default;
};

/// Two points that a line joins: their numbers, the lower one first.
struct Edge {
  uint8_t from, to;
};

/// What the points of a family are: how many, and which of them lines join.
struct PointSet {
  std::string_view name;  // as GStreamer's semantic tags call it, such as "body-pose/coco-17"
  uint16_t count = 0;
  std::span<const Edge> edges{};
};

/// The set of that name, or nullptr.
const PointSet* find_point_set(std::string_view name);

}  // namespace keepbox
