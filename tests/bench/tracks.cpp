// SPDX-License-Identifier: LGPL-2.1-or-later
// Times a frame of each tracking method, for crowds of several sizes and for the worst case of
// boxes that all overlap.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "core/track/tracker.h"
#include "tests/bench/trackcrowd.h"

namespace keepbox {
namespace {

constexpr int64_t kStep = 1'000'000'000 / 30;

using Frames = std::vector<std::vector<Observation>>;

Frames crowd(int people, int frames) {
  Frames out;
  for (const auto& boxes : crowd_frames(people, frames)) {
    out.emplace_back();
    for (const test::CrowdBox& box : boxes) out.back().push_back({box.box, box.score, 0});
  }
  return out;
}

/// Boxes at almost the same place, in another order on each frame.
Frames heap(int boxes, int frames) {
  Frames out;
  for (int i = 0; i < frames; ++i) {
    out.emplace_back();
    for (int k = 0; k < boxes; ++k) {
      const auto at = static_cast<float>((k * 7919 + i * 104729) % boxes) * 0.05f;
      out.back().push_back({{at, at, at + 200, at + 200}, 0.9f, 0});
    }
  }
  return out;
}

/// Prints the median and the largest time of a frame in microseconds.
void time(const TrackMethodRow& row, const char* name, size_t boxes, const Frames& frames) {
  TrackIds ids;
  Tracker tracker({row.method, row.published, kStep}, ids);
  std::vector<double> spent;
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto begun = std::chrono::steady_clock::now();
    tracker.update(frames[i], static_cast<int64_t>(i) * kStep);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    spent.push_back(took.count());
  }
  std::ranges::sort(spent);
  std::printf("%-10s %-6s %5zu boxes  %8.1f us median  %8.1f us most\n", row.name.data(), name,
              boxes, spent[spent.size() / 2], spent.back());
}

}  // namespace
}  // namespace keepbox

int main() {
  using namespace keepbox;
  for (const TrackMethodRow& row : track_methods()) {
    for (const int people : {10, 100, 1000, 4000})
      time(row, "crowd", static_cast<size_t>(people), crowd(people, people < 1000 ? 600 : 100));
    for (const int boxes : {100, 1000})
      time(row, "heap", static_cast<size_t>(boxes), heap(boxes, 30));
  }
}
