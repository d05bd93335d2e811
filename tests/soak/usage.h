// SPDX-License-Identifier: LGPL-2.1-or-later
// What this process holds, sampled while it works, and whether that grows.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

namespace keepbox::soak {

struct Usage {
  uint64_t at = 0;    // frames or cycles that were done
  double heap = 0;    // bytes that are allocated, of all arenas
  double rss = 0;     // bytes that are resident
  double files = 0;   // open descriptors
  double threads = 0;
};

inline double entries(const char* folder) {
  std::error_code gone;
  return static_cast<double>(
      std::distance(std::filesystem::directory_iterator(folder, gone), {}));
}

inline Usage usage(uint64_t at) {
  const struct mallinfo2 heap = mallinfo2();
  uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {at, static_cast<double>(heap.uordblks + heap.hblkhd),
          static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)),
          entries("/proc/self/fd"), entries("/proc/self/task")};
}

/// Samples of the warm-up, when caches fill: this part of all.
inline constexpr size_t kWarmPart = 5;

/// The median of the slopes between any two samples, which a few odd ones do not move. 0 of fewer
/// than two.
inline double slope(std::span<const Usage> samples, double Usage::*number) {
  std::vector<double> slopes;
  for (size_t i = 0; i < samples.size(); ++i)
    for (size_t j = i + 1; j < samples.size(); ++j)
      slopes.push_back((samples[j].*number - samples[i].*number) /
                       static_cast<double>(samples[j].at - samples[i].at));
  if (slopes.empty()) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::ranges::nth_element(slopes, middle);
  return *middle;
}

/// How much a number grows with `at` behind the warm-up: the least of so many stretches. What leaks
/// does in each; what is made once, as when threads meet that never did, is a step in one of three.
inline double growth(std::span<const Usage> samples, double Usage::*number, size_t stretches) {
  samples = samples.subspan(samples.size() / kWarmPart);
  const size_t each = samples.size() / stretches;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < stretches; ++i)
    least = std::min(least, slope(samples.subspan(i * each, each), number));
  return least;
}

}  // namespace keepbox::soak
