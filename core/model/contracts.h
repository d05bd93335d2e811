// SPDX-License-Identifier: LGPL-2.1-or-later
// Named sets of rules: those of frameworks for suppression, and those of keypoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/formula/conventions.h"
#include "core/formula/keypoint.h"

namespace keepbox {

// The table of NMS contracts.

/// Returns the named contracts, "exact" first.
std::span<const NmsContract> contracts();

/// Returns the contract of that name, or nullptr.
const NmsContract* find_contract(std::string_view name);

// Keypoints of kept boxes: joints of a body, landmarks of a face.

/// Line between two keypoints, by their indices, the lower one first.
struct Edge {
  uint8_t from, to;
  friend constexpr bool operator==(const Edge&, const Edge&) = default;
};

/// Keypoints of a family: their number and the lines of a skeleton.
struct PointSet {
  std::string_view name;  // GStreamer's semantic tag, such as "body-pose/coco-17"
  uint16_t count = 0;
  std::span<const Edge> edges{};

  friend bool operator==(const PointSet& a, const PointSet& b) {
    return a.name == b.name && a.count == b.count && std::ranges::equal(a.edges, b.edges);
  }
};

/// Returns the set of that name, or nullptr.
const PointSet* find_point_set(std::string_view name);

}  // namespace keepbox
