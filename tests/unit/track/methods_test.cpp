// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracking methods: ByteTrack against a plain one, SORT and OC-SORT.
#include "core/track/tracker.h"

#include <gtest/gtest.h>

#include "core/track/track.h"
#include "tests/unit/track/own.h"
#include "tests/unit/track/second.h"

namespace keepbox {
namespace {

using test::follow;
using test::IdList;
using test::ids;
using test::kStep;
using test::Own;
using test::settings_of;
using test::sightings;

TEST(ByteTrack, IsThePlainOne) {
  size_t tracked = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    test::Crowd crowd(3 + static_cast<int>(seed % 9), seed, 500);
    Own tracker(TrackMethod::kByteTrack);
    test::PlainByteTrack plain;
    for (int frame = 0; frame < 120; ++frame) {
      const auto boxes = crowd.next(0.3f, 0.6f);
      std::vector<test::Scored> expected;
      for (const test::CrowdBox& box : boxes) expected.push_back({box.box, box.score});
      plain.update(expected);
      const auto found = tracker.update(sightings(boxes), frame * kStep);
      for (size_t i = 0; i < boxes.size(); ++i) {
        ASSERT_EQ(found[i].id, expected[i].id) << "seed " << seed << ", frame " << frame;
        tracked += found[i].id != 0;
      }
    }
  }
  EXPECT_GT(tracked, 20'000u);
}

TEST(ByteTrack, KeepsAnObjectOfLowScore) {
  std::vector<std::vector<Observation>> frames(10, {{{0, 0, 50, 50}, 0.9f, 0}});
  for (int i = 3; i < 8; ++i) frames[i][0].score = 0.2f;
  Own tracker(TrackMethod::kByteTrack);
  EXPECT_EQ(follow(tracker, frames), IdList(10, 1));
  Own sort(TrackMethod::kOcSort);
  EXPECT_EQ(follow(sort, frames)[4], 0u);
}

TEST(ByteTrack, RecoversALostObjectOfLowScoreIfAsked) {
  std::vector<std::vector<Observation>> frames(10, {{{0, 0, 50, 50}, 0.9f, 0}});
  frames[4] = {};
  frames[5][0].score = 0.2f;
  for (const bool asked : {false, true}) {
    TrackIds given;
    TrackSettings settings = settings_of(TrackMethod::kByteTrack);
    settings.params.recover_lost = asked;
    Tracker tracker(settings, given);
    EXPECT_EQ(follow(tracker, frames)[5], asked ? 1u : 0u);
  }
}

TEST(ByteTrack, NeverStartsATrackOfALowScore) {
  Own tracker(TrackMethod::kByteTrack);
  EXPECT_EQ(follow(tracker, std::vector(5, std::vector<Observation>{{{0, 0, 50, 50}, 0.65f, 0}})),
            IdList(5, 0));
}

TEST(ByteTrack, ConfirmsOnTheSecondFrame) {
  std::vector<std::vector<Observation>> frames(5, {{{0, 0, 50, 50}, 0.9f, 0}});
  Own tracker(TrackMethod::kByteTrack);
  EXPECT_EQ(follow(tracker, frames), IdList(5, 1));  // the first frame of a stream is an exception
  frames.insert(frames.begin(), {Observation{{900, 0, 950, 50}, 0.9f, 0}});
  Own later(TrackMethod::kByteTrack);
  EXPECT_EQ(follow(later, frames), (IdList{1, 0, 2, 2, 2, 2}));
}

/// Returns the ids of an object that appears on the third frame, and moves by that part of its
/// width per frame.
IdList ids_at_low_rate(float part, int64_t interval, bool by_time) {
  TrackSettings settings = test::settings_of(TrackMethod::kByteTrack);
  settings.interval = interval;
  settings.by_time = by_time;
  TrackIds counter;
  Tracker tracker(settings, counter);
  IdList out;
  for (int frame = 0; frame < 12; ++frame) {
    std::vector<Observation> boxes;
    const float x = 60 * part * static_cast<float>(frame);
    if (frame >= 2) boxes.push_back({{x, 100, x + 60, 220}, 0.9f});
    const auto tracks = tracker.update(boxes, frame * interval);
    if (frame >= 2) out.push_back(tracks[0].id);
  }
  return out;
}

TEST(ByteTrack, FollowsFastObjectsAtLowRates) {
  constexpr int64_t kFifth = 200'000'000;
  const IdList followed{0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, none(10, 0);
  EXPECT_EQ(ids_at_low_rate(0.3f, kFifth, false), followed);
  for (const float part : {0.3f, 0.55f, 0.8f})
    EXPECT_EQ(ids_at_low_rate(part, kFifth, true), followed);
  for (const float part : {0.55f, 0.7f}) EXPECT_EQ(ids_at_low_rate(part, kFifth, false), none);
  // An object is not followed to the other side of the picture, nor further at a higher rate.
  EXPECT_EQ(ids_at_low_rate(4, kFifth, true), none);
  EXPECT_EQ(ids_at_low_rate(0.7f, kFifth / 4, true), none);
}

TEST(ByteTrack, ReachesOnlyAsFarAsItHasTo) {
  // Of two boxes, the one that overlaps belongs to the track, and the other one is new.
  TrackSettings settings = test::settings_of(TrackMethod::kByteTrack);
  settings.by_time = true;
  TrackIds counter;
  Tracker tracker(settings, counter);
  for (int frame = 0; frame < 3; ++frame)
    tracker.update({{{{100, 100, 160, 220}, 0.9f}}}, frame * 200'000'000);
  const std::vector<Observation> two{{{150, 100, 210, 220}, 0.9f}, {{110, 100, 170, 220}, 0.9f}};
  EXPECT_EQ(ids(tracker.update(two, 600'000'000)), (IdList{0, 1}));
}

TEST(Sort, ConfirmsAfterThreeMatches) {
  std::vector<std::vector<Observation>> frames(12, {{{0, 0, 50, 50}, 0.9f, 0}});
  for (int i = 0; i < 5; ++i) frames[i] = {};
  frames[10] = {};
  Own tracker(TrackMethod::kSort);
  // The first frames of a stream are an exception; a miss hides a track until it has three matches
  // in a row again.
  EXPECT_EQ(follow(tracker, frames), (IdList{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(follow(tracker, std::vector(4, frames[9]), 12 * kStep), (IdList{0, 1, 1, 1}));
}

TEST(Sort, ConfirmsAtOnceAtTheStart) {
  Own tracker(TrackMethod::kSort);
  EXPECT_EQ(follow(tracker, std::vector(6, std::vector<Observation>{{{0, 0, 50, 50}, 0.9f, 0}})),
            IdList(6, 1));
}

TEST(Sort, EndsATrackWithItsSecondMiss) {
  const std::vector<Observation> box{{{0, 0, 50, 50}, 0.9f, 0}};
  for (const int misses : {1, 2}) {
    Own tracker(TrackMethod::kSort);
    std::vector<std::vector<Observation>> frames(5, box);
    for (int i = 0; i < misses; ++i) frames.push_back({});
    frames.insert(frames.end(), 6, box);
    EXPECT_EQ(follow(tracker, frames).back(), static_cast<uint64_t>(misses)) << misses;
  }
}

TEST(Sort, CountsAMissAtAnyRate) {
  const std::vector<Observation> box{{{0, 0, 50, 50}, 0.9f, 0}};
  for (const int64_t interval : {kStep / 2, kStep, 6 * kStep}) {
    TrackIds ids;
    TrackSettings settings = settings_of(TrackMethod::kSort);
    settings.interval = interval;
    Tracker tracker(settings, ids);
    uint64_t last = 0;
    for (int frame = 0; frame < 16; ++frame) {
      const bool miss = frame == 5 || frame == 10 || frame == 11;
      const auto found = tracker.update(miss ? std::vector<Observation>() : box, frame * interval);
      if (frame == 9) {
        EXPECT_EQ(found[0].id, 1u) << interval;
      }
      last = found.empty() ? 0 : found[0].id;
    }
    EXPECT_EQ(last, 2u) << interval;
  }
}

TEST(Sort, CountsNoMissesOnMissingFrames) {
  const std::vector<Observation> box{{{0, 0, 50, 50}, 0.9f, 0}};
  for (const int misses : {1, 2}) {
    Own tracker(TrackMethod::kSort);
    follow(tracker, std::vector(5, box));
    // Two of three frames are missing from here on.
    int64_t time = 5 * kStep;
    for (int i = 0; i < misses; ++i) tracker.update({}, time += 3 * kStep);
    uint64_t last = 0;
    for (int i = 0; i < 6; ++i) last = tracker.update(box, time += 3 * kStep)[0].id;
    EXPECT_EQ(last, static_cast<uint64_t>(misses)) << misses;
  }
}

TEST(ByteTrack, EndsOneOfTwoTracksOfAnObject) {
  const Observation one{{0, 0, 100, 100}, 0.9f, 0}, same{{4, 0, 104, 100}, 0.9f, 0};
  Own tracker(TrackMethod::kByteTrack);
  int frame = 0;
  const auto next = [&](std::vector<Observation> boxes) {
    return ids(tracker.update(boxes, frame++ * kStep));
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(next({one, same}), (IdList{1, 2}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next({one}), (IdList{1}));
  EXPECT_EQ(tracker.size(), 1u);
  next({one, same});
  EXPECT_EQ(next({one, same}), (IdList{1, 3}));
}

TEST(ByteTrack, EndsADuplicateNextToANewTrack) {
  const Observation one{{0, 0, 100, 100}, 0.9f, 0}, same{{4, 0, 104, 100}, 0.9f, 0};
  const Observation fresh{{500, 0, 600, 100}, 0.9f, 0};
  Own tracker(TrackMethod::kByteTrack);
  std::vector<std::vector<Observation>> frames(4, {one, same});
  frames.push_back({one, same, fresh});
  follow(tracker, frames);
  // The new track is confirmed on the frame on which the duplicate ends.
  const std::vector<Observation> left{one, fresh};
  for (int64_t i = 5; i < 8; ++i) EXPECT_EQ(ids(tracker.update(left, i * kStep)), (IdList{1, 3}));
  EXPECT_EQ(tracker.size(), 2u);
}

TEST(ByteTrack, MakesRoomByEndingWhatIsLostForLongest) {
  const auto at = [](size_t i) {
    const auto x = static_cast<float>(i % 64) * 20, y = static_cast<float>(i / 64) * 20;
    return Observation{{x, y, x + 10, y + 10}, 0.9f};
  };
  Own tracker(TrackMethod::kByteTrack);
  std::vector<Observation> boxes;
  for (size_t i = 0; i < Tracker::kMaxTracks; ++i) boxes.push_back(at(i));
  tracker.update(boxes, 0);
  boxes.erase(boxes.begin() + 10);
  tracker.update(boxes, kStep);
  boxes.erase(boxes.begin() + 19);  // the 20th of all
  boxes.push_back(at(Tracker::kMaxTracks));
  tracker.update(boxes, 2 * kStep);
  boxes.push_back(at(20));
  EXPECT_EQ(tracker.update(boxes, 3 * kStep).back().id, 21u);
}

TEST(OcSort, FollowsAnObjectThatTurnsWhileHidden) {
  // Hidden for 12 frames, in which it stops: the filter goes on, the last seen box does not.
  std::vector<std::vector<Observation>> frames;
  for (int i = 0; i < 20; ++i) {
    const auto x = static_cast<float>(i) * 10;
    frames.push_back({{{x, 0, x + 40, 80}, 0.9f, 0}});
  }
  for (int i = 0; i < 12; ++i) frames.push_back({});
  frames.insert(frames.end(), 6, {{{200, 0, 240, 80}, 0.9f, 0}});
  Own oc(TrackMethod::kOcSort), byte(TrackMethod::kByteTrack);
  EXPECT_EQ(follow(oc, frames).back(), 1u);
  EXPECT_EQ(follow(byte, frames).back(), 2u);
}

TEST(OcSort, KeepsAConfirmedObjectOfLowScore) {
  const auto ids_with = [](float low_threshold, float shift) {
    TrackSettings settings = test::settings_of(TrackMethod::kOcSort);
    settings.params.low_threshold = low_threshold;
    TrackIds counter;
    Tracker tracker(settings, counter);
    IdList out;
    for (int frame = 0; frame < 12; ++frame) {
      const bool low = frame >= 6 && frame < 9;
      const float x = 100 + (low ? shift : 0);
      const std::vector<Observation> boxes{{{x, 100, x + 60, 220}, low ? 0.3f : 0.9f}};
      out.push_back(tracker.update(boxes, frame * kStep)[0].id);
    }
    return out;
  };
  const IdList kept(12, 1), lost{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(ids_with(0.1f, 0), kept);
  EXPECT_EQ(ids_with(0.6f, 0), lost);
  EXPECT_EQ(ids_with(0.1f, 25), lost);  // overlaps by 0.4
}

TEST(OcSort, NeverConfirmsAnObjectByLowScores) {
  Own tracker(TrackMethod::kOcSort);
  for (int frame = 0; frame < 5; ++frame) tracker.update({}, frame * kStep);
  for (int frame = 5; frame < 12; ++frame) {
    const std::vector<Observation> boxes{{{100, 100, 160, 220}, frame < 7 ? 0.9f : 0.3f}};
    EXPECT_EQ(tracker.update(boxes, frame * kStep)[0].id, 0u) << frame;
  }
}

TEST(OcSort, ForgetsTheSpeedFromBeforeAnOcclusion) {
  std::vector<std::vector<Observation>> frames;
  for (int i = 0; i < 20; ++i) {
    const auto x = static_cast<float>(i) * 10;
    frames.push_back({{{x, 0, x + 40, 80}, 0.9f, 0}});
  }
  for (int i = 0; i < 12; ++i) frames.push_back({});
  frames.push_back({{{200, 0, 240, 80}, 0.9f, 0}});
  Own tracker(TrackMethod::kOcSort);
  follow(tracker, frames);
  ASSERT_EQ(tracker.size(), 1u);
  // 10 pixels in 13 frames, not 10 pixels in each: the filter alone predicts 210.
  const Box next = tracker.moved(1, 33 * kStep);
  EXPECT_NEAR(next.x1, 201, 5);
}

TEST(OcSort, PrefersTheDirectionOfMovement) {
  // Two boxes overlap with the prediction by the same amount; one is behind, one ahead.
  std::vector<std::vector<Observation>> frames;
  for (int i = 0; i < 10; ++i) {
    const auto x = static_cast<float>(i) * 2;
    frames.push_back({{{x, 0, x + 40, 80}, 0.9f, 0}});
  }
  Own tracker(TrackMethod::kOcSort);
  follow(tracker, frames);
  const Box at = tracker.moved(1, 10 * kStep);
  const auto shifted = [&](float by) {
    return Observation{{at.x1 + by, at.y1, at.x2 + by, at.y2}, 0.9f, 0};
  };
  const std::vector<Observation> both{shifted(-12), shifted(12)};
  const auto tracks = tracker.update(both, 10 * kStep);
  EXPECT_EQ(tracks[0].id, 0u);
  EXPECT_EQ(tracks[1].id, 1u);
}

TEST(MotionDirections, AgreeByTheirAngle) {
  const auto to = [](float x, float y) { return direction_of({0, 0, 2, 2}, {x, y, x + 2, y + 2}); };
  EXPECT_FLOAT_EQ(agreement(to(3, 0), to(5, 0)), 0.5f);
  EXPECT_FLOAT_EQ(agreement(to(3, 0), to(-5, 0)), -0.5f);
  EXPECT_NEAR(agreement(to(3, 0), to(0, 4)), 0, 1e-6);
  EXPECT_NEAR(agreement(to(3, 0), to(4, 4)), 0.25f, 1e-6);
  EXPECT_NEAR(agreement(to(3, 0), to(4, -4)), 0.25f, 1e-6);
  EXPECT_NEAR(agreement(to(3, 4), to(4, 3)), 0.40967f, 1e-5);
  EXPECT_FLOAT_EQ(agreement(to(0, 3), to(0, 5)), 0.5f);
  EXPECT_EQ(agreement(to(0, 0), to(4, 4)), 0);
  EXPECT_EQ(agreement(to(4, 4), to(0, 0)), 0);
  EXPECT_FLOAT_EQ(agreement(to(0.25f, 0), to(5, 0)), 0.5f) << "slower than a pixel per frame";
}

}  // namespace
}  // namespace keepbox
