// SPDX-License-Identifier: LGPL-2.1-or-later
// Trackers of each method, on a crowd that comes and goes.
#include "tests/soak/tracks.h"

#include <memory>
#include <vector>

#include "core/track/tracker.h"
#include "tests/unit/track/crowd.h"

namespace keepbox::soak {
namespace {

constexpr int64_t kStep = 1'000'000'000 / 30;
constexpr int kPeople = 30;

struct Own : TrackIds, Tracker {
  explicit Own(const TrackMethodRow& row) : Tracker({row.method, row.published, kStep}, *this) {}
};

}  // namespace

uint64_t follow_crowd(uint64_t frames, const std::function<void(uint64_t)>& each) {
  std::vector<std::unique_ptr<Own>> trackers;
  for (const TrackMethodRow& row : track_methods()) trackers.push_back(std::make_unique<Own>(row));
  test::Crowd crowd(kPeople, 1);
  for (uint64_t number = 1; number <= frames; ++number) {
    std::vector<Observation> boxes;
    for (const test::CrowdBox& box : crowd.next(0.2f, 2)) boxes.push_back({box.box, box.score, 0});
    for (const auto& tracker : trackers)
      tracker->update(boxes, static_cast<int64_t>(number) * kStep);
    each(number);
  }
  uint64_t ids = 0;
  for (const auto& tracker : trackers) ids += tracker->last;
  return ids;
}

}  // namespace keepbox::soak
