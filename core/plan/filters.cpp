// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks filter settings and fills the filter tables.
#include "core/plan/filters.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <iterator>
#include <string>
#include <utility>

#include "core/plan/plan.h"

namespace keepbox {
namespace {

constexpr float kAny = std::numeric_limits<float>::infinity();

std::unexpected<Error> bad(const std::string& property, const std::string& problem,
                           const std::string& rule) {
  return reject(ErrorKind::kInvalid, property + " " + problem, "set " + property + "= to " + rule);
}

std::string text(BoxSize size) { return std::format("{}x{}", size.width, size.height); }

Status check_sizes(const BoxSizes& sizes, const std::string& property) {
  const auto possible = [](BoxSize size) {
    return size.width >= 0 && size.height >= 0 && std::isfinite(size.width) &&
           std::isfinite(size.height);
  };
  const auto impossible = [&](BoxSize size) {
    return bad(property, "is not possible: " + text(size), "pixels, 0 or more");
  };
  if (!possible(sizes.all)) return impossible(sizes.all);
  for (const auto& [id, size] : sizes.of_class) {
    if (!possible(size)) return impossible(size);
    if (id >= kMaxClasses)
      return bad(property, "names class " + std::to_string(id),
                 "sizes of classes below " + std::to_string(kMaxClasses));
  }
  return {};
}

Status check_regions(const std::vector<Region>& regions, const std::string& property) {
  if (regions.size() > kMaxRegions)
    return bad(property, "has " + std::to_string(regions.size()) + " regions",
               "at most " + std::to_string(kMaxRegions));
  const auto possible = [](const Region& each) {
    const Box& b = each.box;
    return std::isfinite(b.x1) && std::isfinite(b.y1) && std::isfinite(b.x2) &&
           std::isfinite(b.y2) && b.x1 < b.x2 && b.y1 < b.y2;
  };
  if (!std::ranges::all_of(regions, possible))
    return bad(property, "has a region without an area", "regions with width and height");
  return {};
}

/// Writes sizes to the limits of all classes; 0 means no limit.
void put(std::vector<SizeLimits>& limits, const BoxSizes& sizes, float SizeLimits::* width,
         float SizeLimits::* height, float any) {
  const auto set = [&](SizeLimits& of, BoxSize size) {
    of.*width = size.width > 0 ? size.width : any;
    of.*height = size.height > 0 ? size.height : any;
  };
  for (SizeLimits& each : limits) set(each, sizes.all);
  for (const auto& [id, size] : sizes.of_class)
    if (id < limits.size()) set(limits[id], size);
}

}  // namespace

Status check_filters(const FilterSettings& settings) {
  KB_TRY(check_sizes(settings.min_size, "min-size"));
  KB_TRY(check_sizes(settings.max_size, "max-size"));
  KB_TRY(check_regions(settings.regions, "regions"));
  return check_regions(settings.excluded, "regions");
}

void settle_filters(Plan& plan, const FilterSettings& settings, bool parts) {
  const bool sized = settings.min_size != BoxSizes{} || settings.max_size != BoxSizes{};
  plan.size_limits.assign(sized ? plan.rules.class_ids : 0, {});
  put(plan.size_limits, settings.min_size, &SizeLimits::min_width, &SizeLimits::min_height, 0);
  put(plan.size_limits, settings.max_size, &SizeLimits::max_width, &SizeLimits::max_height, kAny);
  plan.regions = settings.regions;
  std::ranges::copy(settings.excluded, std::back_inserter(plan.regions));
  plan.rules.regions = {.wanted = static_cast<uint8_t>(settings.regions.size()),
                        .excluded = static_cast<uint8_t>(settings.excluded.size()),
                        .rule = settings.rule};
  plan.part_regions = parts ? std::exchange(plan.regions, {}) : std::vector<Region>{};
  plan.part_rules = parts ? std::exchange(plan.rules.regions, {}) : RegionRules{};
}

}  // namespace keepbox
