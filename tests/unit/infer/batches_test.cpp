// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of several members on an engine whose runs the test ends.
#include "gst/infer/run/batches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/infer/fakeengine.h"

namespace keepbox {
namespace {

using test::BatchesTest;
using test::picture;
using test::picture_in;
using test::wait_until;

using namespace std::chrono_literals;

TEST(BatchCapacity, FitsTheFramesThatMayBeWaiting) {
  EXPECT_EQ(batch_capacity(1, 64), 1u);
  EXPECT_EQ(batch_capacity(2, 64), 4u);
  EXPECT_EQ(batch_capacity(5, 64), 4u);
  EXPECT_EQ(batch_capacity(8, 64), 8u);
  EXPECT_EQ(batch_capacity(17, 64), 16u) << "32 places for 17 frames would waste 15";
  EXPECT_EQ(batch_capacity(27, 64), 16u);
  EXPECT_EQ(batch_capacity(28, 64), 32u);
  EXPECT_EQ(batch_capacity(55, 64), 32u);
  EXPECT_EQ(batch_capacity(1000, 64), 64u);
  EXPECT_EQ(batch_capacity(16, 6), 6u);
  EXPECT_EQ(batch_capacity(4, 6), 4u);
}

TEST(BatchCapacity, HoldsWholeFramesWithTiles) {
  EXPECT_EQ(batch_capacity(7, 64, 7), 7u);
  EXPECT_EQ(batch_capacity(14, 64, 7), 14u);
  EXPECT_EQ(batch_capacity(7, 64, 6), 6u) << "six tiles, and a stream without";
  EXPECT_EQ(batch_capacity(1000, 64, 7), 63u);
  EXPECT_EQ(batch_capacity(7, 4, 7), 4u);
}

TEST_F(BatchesTest, RunsAlonePictureAtOnce) {
  Batches::Member member;
  batches_.join(1);
  EXPECT_EQ(run(member, 7), 7u);
  EXPECT_EQ(engine_.sizes, std::vector<size_t>{1});
  EXPECT_EQ(batches_.counts().batches, 1u);
  EXPECT_EQ(batches_.counts().pictures, 1u);
}

TEST_F(BatchesTest, GathersWhatComesDuringARun) {
  Batches::Member members[4];
  for (int i = 0; i < 4; ++i) batches_.join(1);
  EXPECT_EQ(run(members[0], 10), 10u);
  wait_until([&] { return engine_.waiting == 1; });
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (uintptr_t i = 1; i < 4; ++i)
    threads.emplace_back([&, i] { good += run(members[i], 10 + i) == 10 + i; });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(engine_.sizes.size(), 1u) << "the first run is not complete";
  engine_.end_run();
  threads.clear();
  EXPECT_EQ(good, 3);
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{1, 3}));
}

/// Otherwise the device has no work from the end of a run until the next launch.
TEST_F(BatchesTest, LaunchesAFullBatchDuringARun) {
  Batches batches({.capacity = 2, .slots = 3, .timeout = 10s}, engine_);
  Batches::Member members[2];
  for (int i = 0; i < 2; ++i) batches.join(4);
  const auto put = [&](Batches::Member& member, uintptr_t number) {
    auto place = test::take_place(batches, member, number);
    batches.put(*place, picture(number));
    return *place;
  };
  std::vector<Batches::Slot> places;
  for (uintptr_t i = 0; i < 2; ++i) places.push_back(put(members[i], i));
  wait_until([&] { return batches.counts().batches == 1; });
  places.push_back(put(members[0], 2));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(batches.counts().batches, 1u) << "it is not full";
  places.push_back(put(members[1], 3));
  wait_until([&] { return batches.counts().batches == 2; });
  for (uintptr_t i = 0; i < 2; ++i) places.push_back(put(members[i], 4 + i));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(batches.counts().batches, 2u) << "the slots of two runs are in use";
  engine_.end_run();
  wait_until([&] { return batches.counts().batches == 3; });
  engine_.end_all();
  for (size_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(picture_in(batches.result(members[i % 2], places[i]), places[i].index), i);
}

TEST_F(BatchesTest, WaitsForAFullBatchOnlyUntilTheTimeout) {
  engine_.end_all();
  Batches patient({.capacity = 4, .timeout = 30ms}, engine_);
  Batches::Member member;
  patient.join(1);
  patient.join(1);
  const auto begun = Batches::Clock::now();
  const auto place = test::take_place(patient, member, 0);
  ASSERT_TRUE(place);
  patient.put(*place, picture(1));
  ASSERT_TRUE(patient.result(member, *place));
  EXPECT_GE(Batches::Clock::now() - begun, 30ms);
  patient.leave(1);
  const auto again = Batches::Clock::now();
  const auto alone = test::take_place(patient, member, 0);
  ASSERT_TRUE(alone);
  patient.put(*alone, picture(1));
  ASSERT_TRUE(patient.result(member, *alone));
  EXPECT_LT(Batches::Clock::now() - again, 30ms) << "all members are in the batch";
}

TEST_F(BatchesTest, CountsElementsFromTheirStartToTheirEnd) {
  engine_.end_all();
  const auto patient =
      std::make_shared<Batches>(Batches::Options{.capacity = 4, .timeout = 200ms}, engine_);
  const auto time_of_a_frame = [](BatchMember& member) {
    const auto begun = Batches::Clock::now();
    auto frame = member.begin(0, 1, [](auto, unsigned) { return picture(1); });
    EXPECT_TRUE(frame && (*frame)->finish());
    return Batches::Clock::now() - begun;
  };
  BatchMember one(patient, 1, 1, {});
  {
    BatchMember other(patient, 1, 1, {});
    EXPECT_GE(time_of_a_frame(one), 200ms) << "the other's frame may come";
  }
  EXPECT_LT(time_of_a_frame(one), 200ms);
}

/// Members that join, leave, flush and fail at random get their own pictures, and no one hangs.
TEST_F(BatchesTest, KeepsPicturesApartUnderRandomLoad) {
  engine_.end_all();
  std::atomic<bool> wrong = false;
  std::atomic<int> done = 0;
  const auto live = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int life = 0; life < 10; ++life) {
      Batches::Member member;
      batches_.join(1);
      std::atomic<bool> end = false;
      std::jthread flushes([&] {
        while (!end) {
          batches_.interrupt(member, true);
          batches_.interrupt(member, false);
          std::this_thread::sleep_for(1ms);
        }
      });
      for (uintptr_t i = 1; i < 50; ++i) {
        const uintptr_t number = seed * 100000u + i;
        if (random() % 8 == 0) {
          auto place = test::take_place(batches_, member, i);
          if (place) batches_.abandon(member, std::move(*place));
          continue;
        }
        const uintptr_t got = run(member, number, i);
        if (got != 0 && got != number) wrong = true;
        done += got == number;
      }
      end = true;
      flushes.join();
      batches_.leave(1);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed < 9; ++seed) threads.emplace_back(live, seed);
    for (unsigned i = 1; i < 20; ++i) batches_.change([&] { return 1 + i % 6; });
  }
  EXPECT_FALSE(wrong);
  EXPECT_GT(done, 100);
}

}  // namespace
}  // namespace keepbox
