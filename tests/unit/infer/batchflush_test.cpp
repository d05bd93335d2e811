// SPDX-License-Identifier: LGPL-2.1-or-later
// Flushes, failures and changes of batches.
#include "gst/infer/run/batches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/infer/fakeengine.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;
using test::BatchesTest;
using test::picture;
using test::wait_until;

TEST_F(BatchesTest, AFlushLeavesTheOthersAlone) {
  Batches::Member kept, flushed;
  batches_.join(1);
  batches_.join(1);
  EXPECT_EQ(run(kept, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  std::atomic<uintptr_t> got = 0;
  std::jthread other([&] { got = run(kept, 5); });
  std::atomic<bool> ended = false;
  std::jthread stopped([&] {
    EXPECT_EQ(run(flushed, 6), 0u);
    ended = true;
  });
  std::this_thread::sleep_for(20ms);
  batches_.interrupt(flushed, true);
  wait_until([&] { return ended.load(); });
  EXPECT_EQ(got, 0u);
  engine_.end_all();
  other.join();
  EXPECT_EQ(got, 5u);
  EXPECT_EQ(batches_.counts().dropped, 1u);
  EXPECT_EQ(run(flushed, 8), 0u) << "interrupted";
  batches_.interrupt(flushed, false);
  EXPECT_EQ(run(flushed, 9), 9u);
}

/// A batch that all its members left has room again for those that wait.
TEST_F(BatchesTest, RoomOfFlushedMembersIsTaken) {
  Batches::Member flushed[4], waiting;
  for (int i = 0; i < 5; ++i) batches_.join(1);
  EXPECT_EQ(run(waiting, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  std::vector<std::jthread> threads;
  for (auto& member : flushed) threads.emplace_back([&] { EXPECT_EQ(run(member, 2), 0u); });
  std::this_thread::sleep_for(20ms);
  std::atomic<uintptr_t> got = 0;
  std::jthread last([&] { got = run(waiting, 3, 9); });
  std::this_thread::sleep_for(20ms);
  for (auto& member : flushed) batches_.interrupt(member, true);
  threads.clear();
  engine_.end_all();
  wait_until([&] { return got == 3u; });
}

/// On a processor a run may take seconds.
TEST_F(BatchesTest, ARunThatNobodyWaitsForIsCancelled) {
  engine_.long_launch = true;
  Batches::Member flushed, other;
  batches_.join(2);
  batches_.join(2);
  std::vector<Batches::Slot> places;
  for (Batches::Member* member : {&flushed, &other})
    if (auto place = test::take_place(batches_, *member, 0)) places.push_back(std::move(*place));
  ASSERT_EQ(places.size(), 2u);
  for (const Batches::Slot& place : places) batches_.put(place, picture(1));
  wait_until([&] { return engine_.launches() == 1; });
  batches_.interrupt(flushed, true);
  EXPECT_FALSE(batches_.result(flushed, std::move(places[0])));
  EXPECT_FALSE(engine_.cancelled) << "the other member waits for it";
  batches_.interrupt(other, true);
  EXPECT_FALSE(batches_.result(other, std::move(places[1])));
  EXPECT_TRUE(engine_.cancelled);
  wait_until([&] { return batches_.counts().batches == 1; });
  EXPECT_EQ(batches_.counts().dropped, 2u);
  engine_.long_launch = false;
  batches_.interrupt(other, false);
  engine_.end_all();
  EXPECT_EQ(run(other, 4), 4u) << "the next run is not cancelled";
}

TEST_F(BatchesTest, AFrameThatWaitsForAPlaceIsInterrupted) {
  Batches::Member waiting, others;
  batches_.join(8);
  batches_.join(1);
  EXPECT_EQ(run(others, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  std::vector<Batches::Slot> places;
  for (int i = 0; i < 4; ++i)
    if (auto place = test::take_place(batches_, others, 0)) places.push_back(std::move(*place));
  ASSERT_EQ(places.size(), 4u);
  std::atomic<bool> ended = false;
  std::jthread stopped([&] {
    const auto place = test::take_place(batches_, waiting, 0);
    EXPECT_TRUE(!place && place.error().kind == ErrorKind::kInterrupted);
    ended = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(ended) << "the batch is full";
  batches_.interrupt(waiting, true);
  wait_until([&] { return ended.load(); });
  for (Batches::Slot& place : places) batches_.abandon(others, std::move(place));
  engine_.end_all();
}

TEST_F(BatchesTest, AnInputThatFailedIsNotWaitedFor) {
  engine_.end_all();
  Batches::Member member;
  batches_.join(1);
  auto place = test::take_place(batches_, member, 0);
  ASSERT_TRUE(place);
  batches_.abandon(member, std::move(*place));
  EXPECT_EQ(run(member, 3), 3u);
  EXPECT_EQ(batches_.counts().batches, 1u);
}

TEST_F(BatchesTest, AFailedRunFailsItsOwnPicturesOnly) {
  engine_.end_all();
  Batches::Member member;
  batches_.join(1);
  engine_.failing = true;
  EXPECT_EQ(run(member, 3), 0u);
  engine_.failing = false;
  EXPECT_EQ(run(member, 4), 4u);
}

/// The input of a run that is under way must not be written to.
TEST_F(BatchesTest, AFailedLaunchDoesNotFreeTheSlotOfARun) {
  Batches batches({.capacity = 1, .slots = 3}, engine_);
  Batches::Member member;
  batches.join(4);
  const auto launched = [&] {
    auto place = test::take_place(batches, member, 0);
    const size_t slot = place->slot;
    batches.put(*place, picture(1));
    (void)batches.result(member, *place);
    return slot;
  };
  const size_t running = launched();
  engine_.failing = true;
  EXPECT_NE(launched(), running);
  engine_.failing = false;
  const auto waiting = test::take_place(batches, member, 0);
  ASSERT_TRUE(waiting);
  EXPECT_NE(waiting->slot, running);
  batches.put(*waiting, picture(2));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(batches.counts().batches, 2u) << "the next batch would have the slot of the first run";
  engine_.end_all();
  EXPECT_TRUE(batches.result(member, *waiting));
  batches.leave(4);
}

/// Their launch needs the model, which may end when its last element has left.
TEST_F(BatchesTest, AbandonedPicturesAreLaunchedBeforeTheLastMemberLeaves) {
  engine_.later = true;
  Batches::Member member;
  batches_.join(2);
  EXPECT_EQ(run(member, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  auto place = test::take_place(batches_, member, 0);
  ASSERT_TRUE(place);
  batches_.put(*place, picture(2));
  batches_.abandon(member, std::move(*place));
  std::jthread ends([&] {
    std::this_thread::sleep_for(20ms);
    engine_.end_all();
  });
  batches_.leave(2);
  EXPECT_EQ(batches_.counts().batches, 2u);
}

TEST_F(BatchesTest, ChangesTheCapacityBetweenRuns) {
  Batches::Member member, other;
  batches_.join(1);
  EXPECT_EQ(run(member, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  std::atomic<bool> changed = false;
  std::jthread changing([&] {
    batches_.change([&] {
      changed = true;
      return 8u;
    });
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(changed) << "a run is under way";
  engine_.end_all();
  changing.join();
  EXPECT_EQ(batches_.counts().capacity, 8u);
  EXPECT_EQ(run(other, 2), 2u);
}

}  // namespace
}  // namespace keepbox
