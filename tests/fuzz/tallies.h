// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts of surfaces.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace keepbox::fuzz {

struct Tallies {
  std::map<std::string, uint64_t, std::less<>> all;  // since the program started
  std::set<std::string, std::less<>> latest;         // counted by the latest input
};

/// The tallies that count() writes to.
Tallies& tallies();

/// Formats "boxes 12, plans 3 (2 kinds)".
std::string tallies_text(const Tallies& tallies);

/// Formats {"boxes": 12, "plans:yolov8": 3}.
std::string tallies_json(const Tallies& tallies);

}  // namespace keepbox::fuzz
