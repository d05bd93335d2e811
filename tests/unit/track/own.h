// SPDX-License-Identifier: LGPL-2.1-or-later
// Trackers with ids of their own, and boxes for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/track/tracker.h"
#include "tests/unit/track/crowd.h"

namespace keepbox::test {

inline constexpr int64_t kStep = 1'000'000'000 / 30;

inline TrackSettings settings_of(TrackMethod method) {
  return {method, row_of(method).published, kStep};
}

/// A tracker with ids of its own.
struct Own : TrackIds, Tracker {
  explicit Own(TrackMethod method) : Tracker(settings_of(method), *this) {}
};

inline std::vector<Observation> sightings(const std::vector<CrowdBox>& boxes) {
  std::vector<Observation> out;
  for (const CrowdBox& box : boxes) out.push_back({box.box, box.score, 0});
  return out;
}

inline std::vector<uint64_t> ids(std::span<const BoxTrack> tracks) {
  std::vector<uint64_t> out;
  for (const BoxTrack& track : tracks) out.push_back(track.id);
  return out;
}

/// Returns the ids of single boxes on frames in a row; a frame without a box has none.
inline std::vector<uint64_t> follow(Tracker& tracker,
                                    const std::vector<std::vector<Observation>>& frames,
                                    int64_t from = 0) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto tracks = tracker.update(frames[i], from + static_cast<int64_t>(i) * kStep);
    out.push_back(tracks.empty() ? 0 : tracks[0].id);
  }
  return out;
}

using IdList = std::vector<uint64_t>;

}  // namespace keepbox::test
