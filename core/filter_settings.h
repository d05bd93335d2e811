// SPDX-License-Identifier: LGPL-2.1-or-later
// What the user asks of the size and the place of boxes, and what a plan makes of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/filter.h"
#include "core/result.h"

namespace keepbox {

/// In frame pixels; 0: any.
struct BoxSize {
  float width = 0, height = 0;
  friend bool operator==(BoxSize, BoxSize) = default;
};

/// A size for all classes and others for some, by class id.
struct BoxSizes {
  BoxSize all;
  std::vector<std::pair<uint32_t, BoxSize>> of_class;
  friend bool operator==(const BoxSizes&, const BoxSizes&) = default;
};

struct FilterSettings {
  BoxSizes least, most;
  std::vector<Region> wanted;  // boxes count in one of them alone; empty: everywhere
  std::vector<Region> excluded;
  RegionRule rule = RegionRule::kCenter;
};

/// kInvalid for sizes below 0 or not finite, classes that cannot be, regions without area or beyond
/// kMostRegions. Names the property.
Status check_filters(const FilterSettings& settings);

struct Plan;

/// Gives a plan their tables. @pre its number of class ids is settled.
void settle_filters(Plan& plan, const FilterSettings& settings);

}  // namespace keepbox
