// SPDX-License-Identifier: LGPL-2.1-or-later
// Order in which members get the places of a batch.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "gst/infer/run/batches.h"
#include "tests/unit/infer/fakeengine.h"

namespace keepbox {
namespace {

using test::BatchesTest;
using test::picture;
using test::picture_in;
using test::wait_until;

using namespace std::chrono_literals;

TEST_F(BatchesTest, TheEarliestGoesFirstWhenABatchIsFull) {
  Batches::Member members[8];
  for (int i = 0; i < 8; ++i) batches_.join(1);
  EXPECT_EQ(run(members[0], 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  std::vector<Batches::Slot> full;
  for (uint64_t i = 1; i < 5; ++i) {
    full.push_back(*test::take_place(batches_, members[i], i));
    batches_.put(full.back(), picture(i));
  }
  std::vector<std::jthread> threads;
  std::array<std::atomic<unsigned>, 8> places;  // in the batch, by member
  for (auto& each : places) each = 99;
  std::atomic<int> begun = 0;
  for (uint64_t i = 5; i < 8; ++i)
    threads.emplace_back([&, i] {
      ++begun;
      const auto place = test::take_place(batches_, members[i], 100 - i);
      places[i] = place->index;
      batches_.put(*place, picture(i));
      (void)batches_.result(members[i], *place);
    });
  wait_until([&] { return begun == 3; });
  std::this_thread::sleep_for(50ms);
  engine_.end_run();  // the full batch is launched, and the next one is open while it runs
  wait_until([&] { return places[5] != 99 && places[6] != 99; });
  engine_.end_all();
  threads.clear();
  for (size_t i = 0; i < full.size(); ++i) EXPECT_TRUE(batches_.result(members[i + 1], full[i]));
  EXPECT_EQ(places[7], 0u) << "its frame is due first";
  EXPECT_EQ(places[6], 1u);
  EXPECT_EQ(places[5], 2u);
}

TEST_F(BatchesTest, AMemberGetsAtMostItsShareWhileOthersWait) {
  Batches::Member greedy, modest;
  batches_.join(4);
  batches_.join(1);
  EXPECT_EQ(run(modest, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  std::vector<Batches::Slot> places;
  for (int i = 0; i < 4; ++i) {
    auto place = test::take_place(batches_, greedy, 0);
    ASSERT_TRUE(place);
    places.push_back(*place);
  }
  const auto take = [&](Batches::Member& member, uint64_t due, unsigned& index) {
    const auto place = test::take_place(batches_, member, due);
    index = place->index;
    batches_.put(*place, picture(1));
    (void)batches_.result(member, *place);
  };
  unsigned of_greedy = 99, of_modest = 99;
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { take(greedy, 0, of_greedy); });
  threads.emplace_back([&] { take(modest, 9, of_modest); });
  std::this_thread::sleep_for(20ms);
  for (const auto& place : places) batches_.put(place, picture(1));
  engine_.end_all();
  threads.clear();
  for (const auto& place : places) EXPECT_TRUE(batches_.result(greedy, place));
  EXPECT_EQ(of_modest, 0u);
  EXPECT_LE(of_greedy, 1u);
}

/// Otherwise a frame whose pictures are in several batches could wait forever for other members.
TEST_F(BatchesTest, FurtherPicturesOfAFrameAreNotLast) {
  Batches::Member tiled, other;
  batches_.join(6);
  batches_.join(1);
  EXPECT_EQ(run(other, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  auto places = batches_.take(tiled, 0, 6);
  ASSERT_TRUE(places);
  ASSERT_EQ(places->size(), 4u);
  const auto take = [&](Batches::Member& member, uint64_t due, unsigned before, unsigned& index) {
    const auto place = batches_.take(member, due, 1, before);
    index = place->front().index;
    batches_.put(place->front(), picture(1));
    (void)batches_.result(member, place->front());
  };
  unsigned of_tiled = 99, of_other = 99;
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { take(other, 9, 0, of_other); });
  threads.emplace_back([&] { take(tiled, 0, 4, of_tiled); });
  std::this_thread::sleep_for(20ms);
  for (const auto& place : *places) batches_.put(place, picture(1));
  engine_.end_all();
  threads.clear();
  for (const auto& place : *places) EXPECT_TRUE(batches_.result(tiled, place));
  EXPECT_EQ(of_tiled, 0u);
  EXPECT_LE(of_other, 1u);
}

/// The input of a place that was given up may still be written by its device.
TEST_F(BatchesTest, PlacesOfADeviceAreNotUsedTwice) {
  engine_.later = true;
  Batches::Member flushed, kept;
  batches_.join(1);
  batches_.join(1);
  EXPECT_EQ(run(kept, 1), 1u);
  wait_until([&] { return engine_.waiting == 1; });
  auto place = test::take_place(batches_, flushed, 0);
  ASSERT_TRUE(place);
  auto owned = std::make_shared<int>();
  batches_.put(*place, owned);
  batches_.abandon(flushed, std::move(*place));
  EXPECT_EQ(owned.use_count(), 2) << "its event is waited for";
  const auto next = test::take_place(batches_, kept, 0);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->index, 1u);
  batches_.put(*next, picture(5));
  engine_.end_all();
  EXPECT_TRUE(batches_.result(kept, *next));
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(BatchesTest, AdjacentPlacesAreTakenAtOnce) {
  engine_.end_all();
  Batches::Member member;
  batches_.join(6);
  auto first = batches_.take(member, 0, 6);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->size(), 4u) << "the capacity";
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ((*first)[i].index, i);
  for (const Batches::Slot& each : *first) batches_.put(each, picture(each.index + 1));
  auto rest = batches_.take(member, 0, 2, 4);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->size(), 2u);
  for (const Batches::Slot& each : *rest) batches_.put(each, picture(each.index + 5));
  for (auto* places : {&*first, &*rest})
    for (const Batches::Slot& each : *places) {
      const uintptr_t want = each.index + (places == &*first ? 1 : 5);
      EXPECT_EQ(picture_in(batches_.result(member, each), each.index), want);
    }
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{4, 2}));
}

}  // namespace
}  // namespace keepbox
