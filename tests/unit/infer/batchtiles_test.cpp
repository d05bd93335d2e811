// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of frames with several pictures each.
#include "gst/infer/run/batches.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/infer/fakeengine.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;
using test::picture;
using test::wait_until;

class TiledBatches : public test::BatchesTest {
 protected:
  TiledBatches() { engine_.end_all(); }

  /// Gives all pictures of a frame to the batches, as an element does.
  std::vector<Batches::Slot> begin(Batches::Member& member, unsigned pictures, uint64_t order = 0) {
    std::vector<Batches::Slot> out;
    while (out.size() < pictures) {
      const auto before = static_cast<unsigned>(out.size());
      const auto places = patient_.take(member, order, pictures - before, before);
      EXPECT_TRUE(places);
      for (const Batches::Slot& each : *places) patient_.put(each, picture(1));
      out.insert(out.end(), places->begin(), places->end());
    }
    return out;
  }
  void finish(Batches::Member& member, const std::vector<Batches::Slot>& places) {
    for (const Batches::Slot& each : places) EXPECT_TRUE(patient_.result(member, each));
  }
  /// Runs a frame, and returns how long that took.
  Batches::Clock::duration run(Batches::Member& member, unsigned pictures) {
    const auto begun = Batches::Clock::now();
    finish(member, begin(member, pictures));
    return Batches::Clock::now() - begun;
  }

  static constexpr auto kTimeout = 2000ms;
  Batches patient_{{.capacity = 4, .timeout = kTimeout}, engine_};
};

/// The frame's first pictures were run, and its element has no other frame until the rest is.
TEST_F(TiledBatches, TheRestOfAnOnlyFrameWaitsForNothing) {
  Batches::Member member;
  patient_.join(6);
  EXPECT_LT(run(member, 6), kTimeout / 2);
  EXPECT_LT(run(member, 6), kTimeout / 2);
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{4, 2, 4, 2}));
}

TEST_F(TiledBatches, TheRestWaitsForAnElementThatMayCome) {
  Batches::Member member, other;
  patient_.join(6);
  patient_.join(2);
  std::jthread comes([&] {
    wait_until([&] { return patient_.counts().batches == 1; });
    std::this_thread::sleep_for(20ms);
    run(other, 2);
  });
  EXPECT_LT(run(member, 6), kTimeout / 2);
  comes.join();
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{4, 4}));
}

/// An element that holds frames back may complete the first of them, and come with another.
TEST_F(TiledBatches, TheRestWaitsForAFrameOfItsElement) {
  Batches::Member member;
  patient_.join(2 * 5);
  const auto begun = Batches::Clock::now();
  const auto first = begin(member, 5);
  const auto second = begin(member, 5, 1);
  finish(member, first);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{4, 4}));
  const auto third = begin(member, 5, 2);
  finish(member, second);
  patient_.leave(5);  // no other frame comes
  finish(member, third);
  EXPECT_LT(Batches::Clock::now() - begun, kTimeout / 2);
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{4, 4, 4, 3}));
}

TEST_F(TiledBatches, AFrameThatABatchHoldsIsNotDivided) {
  Batches::Member tiled, single;
  patient_.join(4);
  patient_.join(1);
  const auto begun = Batches::Clock::now();
  const auto one = begin(single, 1);
  const auto places = begin(tiled, 4, 1);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(places[i].index, i);
    EXPECT_EQ(places[i].batch, places[0].batch);
  }
  EXPECT_LT(Batches::Clock::now() - begun, kTimeout / 2) << "the batch before has no more room";
  finish(single, one);
  finish(tiled, places);
  EXPECT_EQ(engine_.sizes, (std::vector<size_t>{1, 4}));
}

}  // namespace
}  // namespace keepbox
