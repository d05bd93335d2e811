// SPDX-License-Identifier: LGPL-2.1-or-later
// Resource usage of this process, sampled over time, and its growth.
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
  uint64_t at = 0;   // completed frames or cycles
  double heap = 0;   // allocated bytes, all arenas
  double rss = 0;    // resident bytes
  double files = 0;  // open descriptors
  double threads = 0;
};

inline double entries(const char* folder) {
  std::error_code gone;
  return static_cast<double>(std::distance(std::filesystem::directory_iterator(folder, gone), {}));
}

/// Returns free memory to the system first: what remains free depends on the order in which threads
/// allocate, which varies with the load of the machine.
inline Usage usage(uint64_t at) {
  malloc_trim(0);
  const struct mallinfo2 heap = mallinfo2();
  uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {at, static_cast<double>(heap.uordblks + heap.hblkhd),
          static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)),
          entries("/proc/self/fd"), entries("/proc/self/task")};
}

/// Divisor for the samples of the warm-up, when caches fill.
inline constexpr size_t kWarmPart = 5;

/// Returns the median of the slopes between all pairs of samples, which is robust to outliers. 0
/// for fewer than two samples.
inline double slope(std::span<const Usage> samples, double Usage::* number) {
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

/// Returns the growth of a number with `at` after the warm-up: the minimum over `stretches`
/// stretches. A leak grows in each of them; a one-time allocation is a step in one.
inline double growth(std::span<const Usage> samples, double Usage::* number, size_t stretches) {
  samples = samples.subspan(samples.size() / kWarmPart);
  const size_t each = samples.size() / stretches;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < stretches; ++i)
    least = std::min(least, slope(samples.subspan(i * each, each), number));
  return least;
}

}  // namespace keepbox::soak
