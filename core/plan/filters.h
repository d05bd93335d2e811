// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings of the size and region filters, and their tables in a plan.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/filter.h"

namespace keepbox {

/// Size in frame pixels; 0: any.
struct BoxSize {
  float width = 0, height = 0;
  friend bool operator==(BoxSize, BoxSize) = default;
};

/// Size for all classes, with exceptions by class id.
struct BoxSizes {
  BoxSize all;
  std::vector<std::pair<uint32_t, BoxSize>> of_class;
  friend bool operator==(const BoxSizes&, const BoxSizes&) = default;
};

struct FilterSettings {
  BoxSizes min_size, max_size;
  std::vector<Region> regions;  // a box has to belong to one of them; empty: anywhere
  std::vector<Region> excluded;
  RegionRule rule = RegionRule::kCenter;
};

/// Returns kInvalid, naming the property, for sizes that are negative or not finite, invalid class
/// ids, empty regions or more than kMaxRegions.
Status check_filters(const FilterSettings& settings);

struct Plan;

/// Fills the filter tables of a plan. @pre rules.class_ids is settled.
/// @param parts see Settings::parts.
void settle_filters(Plan& plan, const FilterSettings& settings, bool parts);

}  // namespace keepbox
