// SPDX-License-Identifier: LGPL-2.1-or-later
// Lists of boxes for tests, and their suppression.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/run/suppressor.h"

namespace keepbox::test {

/// Boxes of one or more problems.
struct BoxTable {
  bool oriented = false;
  std::vector<float> boxes, scores;  // four or five values per box, and one
  std::vector<int64_t> classes;      // empty: none
  std::vector<uint32_t> starts;      // empty: one problem

  uint32_t count() const { return static_cast<uint32_t>(scores.size()); }

  void add(const std::vector<float>& box, float score, std::optional<int64_t> id = {}) {
    boxes.insert(boxes.end(), box.begin(), box.end());
    scores.push_back(score);
    if (id) classes.push_back(*id);
  }

  /// Returns a problem as a table of its own.
  BoxTable problem(uint32_t number) const {
    const uint32_t first = starts[number];
    const uint32_t end = number + 1 < starts.size() ? starts[number + 1] : count();
    const uint32_t values = BoxList::values_of(oriented);
    const auto part = [&](const auto& from, uint32_t each) {
      return std::remove_cvref_t<decltype(from)>(from.begin() + first * each,
                                                 from.begin() + end * each);
    };
    return {oriented,
            part(boxes, values),
            part(scores, 1),
            classes.empty() ? classes : part(classes, 1),
            {}};
  }
};

/// Indices that are kept of each problem, best first.
using KeptOf = std::vector<std::vector<int64_t>>;

/// Initial value of indices.
inline constexpr int64_t kUnwritten = -0x5a5a5a5a;

/// Returns the results of problems, of which nothing else may be written.
inline KeptOf kept_of(const BoxProblems& problems, std::vector<int64_t> indices,
                      const std::vector<uint32_t>& counts) {
  KeptOf out;
  for (uint32_t i = 0; i < problems.problems(); ++i) {
    EXPECT_LE(counts[i], problems.size(i));
    const auto first = indices.begin() + problems.begin(i);
    const auto end = first + std::min(counts[i], problems.size(i));
    out.emplace_back(first, end);
    std::fill(first, end, kUnwritten);
  }
  EXPECT_EQ(indices, std::vector<int64_t>(indices.size(), kUnwritten));
  return out;
}

/// Suppresses a table in host memory.
inline Result<KeptOf> suppressed(Suppressor& suppressor, const BoxTable& table) {
  std::vector<int64_t> indices(table.count() + 1, kUnwritten);
  BoxProblems problems{
      .list = {table.boxes.data(), table.scores.data(),
               table.classes.empty() ? nullptr : table.classes.data()},
      .boxes = table.count(),
      .starts = table.starts.empty() ? nullptr : table.starts.data(),
      .start_count = static_cast<uint32_t>(table.starts.size()),
      .indices = indices.data(),
  };
  std::vector<uint32_t> counts(problems.problems(), 77);
  problems.counts = counts.data();
  KB_TRY(suppressor.run(problems));
  return kept_of(problems, std::move(indices), counts);
}

/// Suppresses a table by a backend.
inline Result<KeptOf> suppressed(const Settings& settings, const Backend& backend,
                                 const BoxTable& table) {
  auto suppressor = Suppressor::create(settings, table.oriented, backend);
  if (!suppressor) return std::unexpected(suppressor.error());
  return suppressed(*suppressor, table);
}

/// Returns the backends of this build that read host memory.
inline std::vector<const Backend*> host_backends() {
  std::vector<const Backend*> out;
  for (const Backend& each : backends())
    if (each.memory == MemorySpace::kSystem) out.push_back(&each);
  return out;
}

}  // namespace keepbox::test
