// SPDX-License-Identifier: LGPL-2.1-or-later
// Merges sorted runs of keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace keepbox {

inline constexpr size_t kFewKeys = 16;  // sorted without regard to runs

/// Merges two sorted runs of unique keys. @pre out.size() == a.size() + b.size()
inline void merge_runs(std::span<const uint64_t> a, std::span<const uint64_t> b,
                       std::span<uint64_t> out) {
  const uint64_t *x = a.data(),
                 *y = b.data(), *const x_end = x + a.size(), *const y_end = y + b.size();
  uint64_t* to = out.data();
  while (x != x_end && y != y_end) {  // without a branch on keys, which are in no order
    const uint64_t first = *x, second = *y;
    const bool other = second < first;
    *to++ = other ? second : first;
    x += other ? 0 : 1;
    y += other ? 1 : 0;
  }
  to = std::copy(x, x_end, to);
  std::copy(y, y_end, to);
}

/// Sorts keys that consist of sorted runs.
/// @param ends of the runs, the last one keys.size(); overwritten.
/// @param spare as many keys. @return the one of the two that is sorted.
inline std::span<uint64_t> sort_runs(std::span<uint64_t> keys, std::span<uint64_t> spare,
                                     std::span<uint32_t> ends) {
  if (keys.size() <= kFewKeys) {
    std::ranges::sort(keys);
    return keys;
  }
  for (size_t runs = ends.size(); runs > 1; runs = (runs + 1) / 2) {
    uint32_t begin = 0;
    for (size_t i = 0; i < runs; i += 2) {
      const uint32_t middle = ends[i], end = ends[i + 1 < runs ? i + 1 : i];
      merge_runs(keys.subspan(begin, middle - begin), keys.subspan(middle, end - middle),
                 spare.subspan(begin, end - begin));
      ends[i / 2] = begin = end;
    }
    std::swap(keys, spare);
  }
  return keys;
}

}  // namespace keepbox
