// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads sizes and regions.
#include "gst/decode/settings/filtertext.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "gst/base/words.h"

namespace keepbox {
namespace {

std::unexpected<Error> bad(const char* form, std::string_view found, const char* property,
                           const char* example) {
  return reject(ErrorKind::kInvalid,
                std::string(property) + " has " + in_quotes(found) + ", which is not " + form,
                std::string("set ") + property + "= to a value such as " + example);
}

/// Parses a finite number that is not negative.
bool parse_pixels(std::string_view text, float& value) {
  return parse_finite(text, value) && value >= 0;
}

std::optional<BoxSize> size_of_text(std::string_view text) {
  const auto sides = split(text, 'x');
  BoxSize size;
  if (sides.size() == 2 && parse_pixels(sides[0], size.width) &&
      parse_pixels(sides[1], size.height))
    return size;
  return std::nullopt;
}

std::optional<Region> region_of_text(std::string_view text) {
  const auto parts = split(text, ',');
  std::array<float, 4> v{};
  if (parts.size() != v.size()) return std::nullopt;
  for (size_t i = 0; i < v.size(); ++i)
    if (!parse_pixels(parts[i], v[i])) return std::nullopt;
  if (v[2] == 0 || v[3] == 0) return std::nullopt;
  const bool fractions = std::ranges::all_of(v, [](float each) { return each <= 1; });
  return Region{.box = {v[0], v[1], v[0] + v[2], v[1] + v[3]}, .fractions = fractions ? 1u : 0u};
}

}  // namespace

Result<BoxSizes> sizes_of(std::string_view text, const Labels& labels, const char* property) {
  BoxSizes sizes;
  if (trimmed(text).empty()) return sizes;
  for (const std::string_view part : split(text, ',')) {
    const size_t colon = part.rfind(':');
    const bool all = colon == part.npos;
    const auto size = size_of_text(all ? part : trimmed(part.substr(colon + 1)));
    if (!size)
      return bad("WIDTHxHEIGHT or CLASS:WIDTHxHEIGHT", part, property, "16x16,person:32x64");
    if (all) {
      sizes.all = *size;
      continue;
    }
    KB_ASSIGN(const auto called, labels.classes_called(trimmed(part.substr(0, colon)), property));
    for (const uint32_t id : called) sizes.of_class.emplace_back(id, *size);
  }
  return sizes;
}

Result<std::vector<Region>> regions_of(std::string_view text, const char* property) {
  std::vector<Region> regions;
  if (trimmed(text).empty()) return regions;
  for (const std::string_view part : split(text, ';')) {
    const auto region = region_of_text(part);
    if (!region)
      return bad("X,Y,WIDTH,HEIGHT of a region with an area", part, property,
                 "0,0.5,1,0.5;100,50,640,360");
    regions.push_back(*region);
  }
  if (regions.size() > kMaxRegions)
    return reject(ErrorKind::kInvalid,
                  std::string(property) + " has " + std::to_string(regions.size()) + " regions",
                  std::string("set ") + property + "= to at most " + std::to_string(kMaxRegions));
  return regions;
}

}  // namespace keepbox
