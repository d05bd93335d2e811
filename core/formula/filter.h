// SPDX-License-Identifier: LGPL-2.1-or-later
// Size and region filters, in frame coordinates.
#pragma once

#include <cstdint>
#include <limits>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Limits for a box, in frame pixels, inclusive.
struct SizeLimits {
  float min_width = 0, min_height = 0;
  float max_width = std::numeric_limits<float>::infinity();
  float max_height = std::numeric_limits<float>::infinity();
  friend KB_HD constexpr bool operator==(const SizeLimits&, const SizeLimits&) = default;
};

/// Conditions for a box to belong to a region.
enum class RegionRule : uint8_t {
  kCenter,  // its centre is inside; the left and upper edge are part of the region
  kInside,  // the whole box is inside, edges included
  kTouch,   // box and region share some area
};

/// Describes an area of the frame.
struct Region {
  Box box;                 // in frame pixels, or in fractions of the frame's sides
  uint32_t fractions = 0;  // 1: fractions of the frame's sides
  friend KB_HD constexpr bool operator==(const Region&, const Region&) = default;
};

inline constexpr uint32_t kMaxRegions = 16;  // per kind

/// Rules to read a table of regions, in which included regions come before excluded ones.
struct RegionRules {
  uint8_t wanted = 0;  // 0: boxes may be anywhere
  uint8_t excluded = 0;
  RegionRule rule = RegionRule::kCenter;
  friend constexpr bool operator==(const RegionRules&, const RegionRules&) = default;
};

KB_HD inline bool passes_size(const Box& box, const SizeLimits& limits) {
  const float width = box.x2 - box.x1, height = box.y2 - box.y1;
  return width >= limits.min_width && height >= limits.min_height && width <= limits.max_width &&
         height <= limits.max_height;
}

KB_HD inline Box on_frame(const Region& region, Size frame) {
  const bool scaled = region.fractions != 0;
  const float x = scaled ? static_cast<float>(frame.width) : 1.0f;
  const float y = scaled ? static_cast<float>(frame.height) : 1.0f;
  return {region.box.x1 * x, region.box.y1 * y, region.box.x2 * x, region.box.y2 * y};
}

KB_HD inline bool belongs_to(const Box& box, const Box& region, RegionRule rule) {
  if (rule == RegionRule::kInside)
    return box.x1 >= region.x1 && box.y1 >= region.y1 && box.x2 <= region.x2 && box.y2 <= region.y2;
  if (rule == RegionRule::kTouch)
    return box.x1 < region.x2 && region.x1 < box.x2 && box.y1 < region.y2 && region.y1 < box.y2;
  const float x = (box.x1 + box.x2) * 0.5f, y = (box.y1 + box.y2) * 0.5f;
  return x >= region.x1 && x < region.x2 && y >= region.y1 && y < region.y2;
}

/// True if the regions admit the box. @param regions rules.wanted + rules.excluded of them.
KB_HD_NOINLINE inline bool passes_regions(Box box, Size frame, RegionRules rules,
                                          const Region* regions) {
  const uint32_t wanted = rules.wanted, all = wanted + rules.excluded;
  bool placed = wanted == 0;
  for (uint32_t i = 0; i < all; ++i) {
    const bool in = belongs_to(box, on_frame(regions[i], frame), rules.rule);
    placed = i < wanted ? placed || in : placed && !in;
  }
  return placed;
}

}  // namespace keepbox
