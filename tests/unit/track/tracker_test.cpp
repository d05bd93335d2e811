// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests of the properties that users of trackers rely on, whatever the method.
#include "core/track/tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <ranges>
#include <set>

#include "tests/unit/track/own.h"

namespace keepbox {
namespace {

using test::follow;
using test::IdList;
using test::ids;
using test::kStep;
using test::Own;
using test::sightings;

class EachTrackMethod : public testing::TestWithParam<TrackMethod> {};
INSTANTIATE_TEST_SUITE_P(Tracker, EachTrackMethod,
                         testing::Values(TrackMethod::kByteTrack, TrackMethod::kSort,
                                         TrackMethod::kOcSort));

TEST_P(EachTrackMethod, GivesUniqueIdsInOrder) {
  test::Crowd crowd(20, 1);
  Own tracker(GetParam());
  uint64_t last = 0;
  std::map<uint64_t, int64_t> since;
  for (int frame = 0; frame < 300; ++frame) {
    const int64_t now = frame * kStep;
    std::set<uint64_t> here, fresh;
    for (const BoxTrack& track : tracker.update(sightings(crowd.next()), now)) {
      if (track.id == 0) continue;
      EXPECT_TRUE(here.insert(track.id).second);
      if (track.id > last) fresh.insert(track.id);
      EXPECT_EQ(since.try_emplace(track.id, track.since).first->second, track.since);
      EXPECT_LE(track.since, now);
    }
    for (const uint64_t id : fresh) EXPECT_EQ(id, ++last);
  }
  EXPECT_GE(last, 20u);
  EXPECT_EQ(tracker.TrackIds::last, last);
}

TEST_P(EachTrackMethod, KeepsMostIdsOfACrowd) {
  // Sparse, with few misses: nearly every object has one id for all of the time.
  test::Crowd crowd(8, 5, 4000);
  Own tracker(GetParam());
  std::map<int, std::map<uint64_t, int>> ids_of;
  for (int frame = 0; frame < 200; ++frame) {
    const auto boxes = crowd.next(0.02f, 0);
    const auto tracks = tracker.update(sightings(boxes), frame * kStep);
    for (size_t i = 0; i < boxes.size(); ++i)
      if (tracks[i].id != 0) ++ids_of[boxes[i].object][tracks[i].id];
  }
  ASSERT_EQ(ids_of.size(), 8u);
  for (const auto& [object, counts] : ids_of)
    EXPECT_GT(std::ranges::max(counts | std::views::values), 150) << object;
}

TEST_P(EachTrackMethod, IsTheSameEveryTime) {
  std::vector<IdList> first;
  for (int round = 0; round < 2; ++round) {
    test::Crowd crowd(15, 9, 300);
    Own tracker(GetParam());
    for (int frame = 0; frame < 60; ++frame) {
      const IdList now = ids(tracker.update(sightings(crowd.next()), frame * kStep));
      if (round == 0) first.push_back(now);
      else EXPECT_EQ(now, first[frame]);
    }
  }
}

TEST_P(EachTrackMethod, NeverMixesKinds) {
  Own tracker(GetParam());
  std::map<uint64_t, uint64_t> kind_of;
  for (int frame = 0; frame < 20; ++frame) {
    // Two boxes at the same place that swap their order.
    const Box box{100, 100, 200, 200};
    std::vector<Observation> boxes{{box, 0.9f, 1}, {box, 0.9f, 2}};
    if (frame % 2 == 1) std::swap(boxes[0], boxes[1]);
    const auto tracks = tracker.update(boxes, frame * kStep);
    for (size_t i = 0; i < 2; ++i) {
      if (tracks[i].id == 0) continue;
      EXPECT_EQ(kind_of.try_emplace(tracks[i].id, boxes[i].kind).first->second, boxes[i].kind);
    }
  }
  EXPECT_EQ(kind_of.size(), 2u);
}

TEST_P(EachTrackMethod, BridgesMissingFramesByTime) {
  // 8 pixels a frame, 40 wide: four frames later the box no longer overlaps with its last place.
  Own tracker(GetParam());
  const auto box = [](int frame) {
    const auto x = static_cast<float>(frame) * 8;
    return std::vector<Observation>{{{x, 0, x + 30, 80}, 0.9f, 0}};
  };
  uint64_t id = 0;
  for (int frame = 0; frame < 20; ++frame) id = tracker.update(box(frame), frame * kStep)[0].id;
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(tracker.update(box(26), 26 * kStep)[0].id, 1u);
}

TEST_P(EachTrackMethod, SkipsWhatIsNoBox) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  Own tracker(GetParam());
  const std::vector<Observation> bad{
      {{nan, 0, 5, 5}, 0.9f}, {{0, 0, inf, 5}, 0.9f},  {{5, 5, 5, 9}, 0.9f}, {{8, 8, 2, 2}, 0.9f},
      {{0, 0, 5, 5}, nan},    {{0, 0, 2e7f, 5}, 0.9f}, {{0, 0, 5, 5}, -1.0f}};
  for (int frame = 0; frame < 5; ++frame)
    for (const uint64_t id : ids(tracker.update(bad, frame * kStep))) EXPECT_EQ(id, 0u);
  EXPECT_EQ(tracker.size(), 0u);
}

TEST_P(EachTrackMethod, FollowsBoxesOfLessThanAPixel) {
  Own tracker(GetParam());
  const std::vector<Observation> small{{{10, 10, 10.5f, 10.75f}, 0.9f}};
  for (int frame = 0; frame < 5; ++frame)
    EXPECT_EQ(ids(tracker.update(small, frame * kStep)), (IdList{1}));
}

TEST_P(EachTrackMethod, TakesScoresThatAreNoProbabilities) {
  for (const float score : {30.0f, 1e30f, std::numeric_limits<float>::infinity()}) {
    Own tracker(GetParam());
    const std::vector<Observation> boxes{{{0, 0, 50, 50}, score, 0}, {{20, 0, 70, 50}, score, 0}};
    for (int frame = 0; frame < 5; ++frame)
      EXPECT_EQ(ids(tracker.update(boxes, frame * kStep)), (IdList{1, 2})) << score;
  }
}

TEST_P(EachTrackMethod, NeedsBoundedMemory) {
  Own tracker(GetParam());
  std::mt19937 random(4);
  for (int frame = 0; frame < 8; ++frame) {
    std::vector<Observation> boxes;
    for (int i = 0; i < 5000; ++i) {
      const auto x = static_cast<float>(random() % 100'000),
                 y = static_cast<float>(random() % 100'000);
      boxes.push_back({{x, y, x + 5, y + 5}, 0.9f, 0});
    }
    tracker.update(boxes, frame * kStep);
    EXPECT_LE(tracker.size(), Tracker::kMaxTracks);
  }
}

TEST_P(EachTrackMethod, TakesTheBestOfTooManyBoxes) {
  std::vector<Observation> boxes;
  for (int i = 0; i < 5000; ++i) {
    const auto x = static_cast<float>(i) * 10;
    boxes.push_back({{x, 0, x + 5, 5}, 0.75f + static_cast<float>(i) / 100'000, 0});
  }
  Own tracker(GetParam());
  const auto tracks = tracker.update(boxes, 0);
  for (size_t i = 0; i < boxes.size(); ++i)
    ASSERT_EQ(tracks[i].id != 0, i >= boxes.size() - Tracker::kMaxTracks) << i;
}

TEST_P(EachTrackMethod, EndsTracksOnReset) {
  Own tracker(GetParam());
  const std::vector<std::vector<Observation>> still(6, {{{0, 0, 50, 50}, 0.9f, 0}});
  EXPECT_EQ(follow(tracker, still).back(), 1u);
  tracker.reset();
  EXPECT_EQ(tracker.size(), 0u);
  // The first frame confirms at once again.
  EXPECT_EQ(follow(tracker, still), IdList(6, 2));
}

TEST_P(EachTrackMethod, MovesBoxesBetweenFrames) {
  Own tracker(GetParam());
  BoxTrack track;
  for (int frame = 0; frame < 30; ++frame) {
    const auto x = static_cast<float>(frame) * 6;
    track =
        tracker.update(std::vector<Observation>{{{x, 10, x + 40, 90}, 0.9f, 0}}, frame * kStep)[0];
  }
  ASSERT_EQ(track.id, 1u);
  for (const int ahead : {1, 2, 5}) {
    const Box box = tracker.moved(track.number, (29 + ahead) * kStep);
    EXPECT_NEAR(box.x1, static_cast<float>(29 + ahead) * 6, 1.5) << ahead;
    EXPECT_NEAR(box.y1, 10, 1) << ahead;
    EXPECT_NEAR(box.x2 - box.x1, 40, 2) << ahead;
  }
  // Looking ahead changed nothing.
  EXPECT_NEAR(tracker.moved(track.number, 30 * kStep).x1, 180, 1.5);
}

/// A box that repeats an earlier one shows where its object is, but not that it is there.
TEST_P(EachTrackMethod, FollowsBoxesThatRepeatThoseOfATrack) {
  Own tracker(GetParam());
  const auto at = [](float x) { return Observation{{x, 0, x + 30, 80}, 0.9f, 0}; };
  const auto update = [&](const std::vector<Observation>& boxes, int frame) {
    const auto tracks = tracker.update(boxes, frame * kStep);
    return std::vector<BoxTrack>(tracks.begin(), tracks.end());
  };
  for (int frame = 0; frame < 10; ++frame) update({at(0), at(500)}, frame);
  const uint64_t known = update({at(0), at(500)}, 10)[0].number;
  for (int frame = 11; frame < 60; ++frame) {
    Observation repeated = at(5 * static_cast<float>(frame - 10));
    repeated.track = known;
    repeated.score = 0;
    EXPECT_EQ(ids(update({repeated, at(500)}, frame)), (IdList{1, 2})) << frame;
  }
  EXPECT_EQ(ids(update({at(250), at(500)}, 60)), (IdList{1, 2}));
  Observation odd = at(250);
  odd.track = 99;
  EXPECT_EQ(ids(update({at(250), odd}, 61)), (IdList{1, 0})) << "no such track, and no new one";
  EXPECT_EQ(tracker.size(), 2u);

  Own unsure(GetParam());
  for (int frame = 0; frame < 10; ++frame) unsure.update({}, frame * kStep);
  const std::vector<Observation> first{at(0)};
  Observation repeated = at(0);
  repeated.track = unsure.update(first, 10 * kStep)[0].number;
  ASSERT_NE(repeated.track, 0u);
  const std::vector<Observation> again{repeated};
  for (int frame = 11; frame < 30; ++frame)
    EXPECT_EQ(unsure.update(again, frame * kStep)[0].id, 0u) << "not confirmed";
  EXPECT_TRUE(unsure.has(repeated.track));
}

TEST_P(EachTrackMethod, IgnoresMissesOfFramesThatWerePartlyLookedAt) {
  Own tracker(GetParam());
  const auto at = [](int frame) {
    const auto x = static_cast<float>(frame) * 8;
    return std::vector<Observation>{{{x, 0, x + 30, 80}, 0.9f, 0}};
  };
  uint64_t number = 0;
  for (int frame = 0; frame < 20; ++frame)
    number = tracker.update(at(frame), frame * kStep)[0].number;
  for (int frame = 20; frame < 40; ++frame) tracker.update({}, frame * kStep, Misses::kIgnore);
  EXPECT_TRUE(tracker.has(number));
  EXPECT_EQ(tracker.update(at(40), 40 * kStep)[0].id, 1u);
  // After a miss these frames do not count either.
  tracker.update({}, 41 * kStep);
  for (int frame = 42; frame < 55; ++frame) tracker.update({}, frame * kStep, Misses::kIgnore);
  EXPECT_TRUE(tracker.has(number));
  for (int frame = 55; frame < 75; ++frame) tracker.update({}, frame * kStep, Misses::kIgnore);
  EXPECT_FALSE(tracker.has(number)) << "not seen for longer than frames may be rare";
  EXPECT_EQ(tracker.moved(number, 75 * kStep), Box{});
}

TEST(Tracker, EndsTracksByTime) {
  for (const TrackMethod method : {TrackMethod::kByteTrack, TrackMethod::kOcSort})
    for (const int gap : {30, 32}) {
      Own tracker(method);
      const std::vector<std::vector<Observation>> still(6, {{{0, 0, 50, 50}, 0.9f, 0}});
      follow(tracker, still);
      const int64_t last = 5 * kStep;
      // Frames without boxes pass, at another rate.
      for (int i = 1; i < gap; i += 3) tracker.update({}, last + i * kStep);
      const auto again = follow(tracker, still, last + gap * kStep);
      EXPECT_EQ(again.back(), gap == 30 ? 1u : 2u) << gap;
    }
}

TEST(Tracker, TakesTimeThatStandsOrRunsBack) {
  Own tracker(TrackMethod::kByteTrack);
  const std::vector<Observation> box{{{0, 0, 50, 50}, 0.9f, 0}};
  for (const int64_t time : {5 * kStep, 5 * kStep, 2 * kStep, 6 * kStep})
    EXPECT_EQ(tracker.update(box, time)[0].id, 1u);
  // A time before the last one counts as no time: the motion is the same.
  Own back(TrackMethod::kByteTrack), still(TrackMethod::kByteTrack);
  for (int frame = 0; frame < 8; ++frame) {
    const auto x = static_cast<float>(frame) * 5;
    const std::vector<Observation> moving{{{x, 0, x + 50, 50}, 0.9f, 0}};
    const int64_t time = std::min(frame, 5) * kStep;
    still.update(moving, time);
    back.update(moving, frame > 5 ? 0 : time);
  }
  EXPECT_EQ(back.moved(1, 7 * kStep), still.moved(1, 7 * kStep));
}

TEST(Tracker, EndsAllTracksInALongPause) {
  for (const TrackMethod method :
       {TrackMethod::kByteTrack, TrackMethod::kSort, TrackMethod::kOcSort}) {
    const std::vector<std::vector<Observation>> still(6, {{{0, 0, 50, 50}, 0.9f, 0}});
    Own tracker(method);
    follow(tracker, still);
    EXPECT_EQ(follow(tracker, still, 5 * kStep + 900'000'000).back(), 1u);
    EXPECT_EQ(follow(tracker, still, 10 * kStep + 2'000'000'000).back(), 2u);
  }
}

TEST(Tracker, CountsThePauseForLostTracks) {
  // Lost 0.5 s before a pause of 0.8 s: 1.3 s in all.
  const std::vector<std::vector<Observation>> still(6, {{{0, 0, 50, 50}, 0.9f, 0}});
  Own tracker(TrackMethod::kByteTrack);
  follow(tracker, still);
  tracker.update({}, 5 * kStep + 500'000'000);
  EXPECT_EQ(follow(tracker, still, 5 * kStep + 1'300'000'000).back(), 2u);
}

}  // namespace
}  // namespace keepbox
