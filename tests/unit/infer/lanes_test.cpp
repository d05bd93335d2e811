// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice among sessions side by side.
#include "gst/infer/run/batches.h"

#include <gtest/gtest.h>

#include <thread>

namespace keepbox {
namespace {

TEST(Lanes, HaveEquallyManyUsers) {
  Lanes lanes;
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(lanes.take(4), i % 4);
  lanes.leave(2);
  EXPECT_EQ(lanes.take(4), 2u);
  EXPECT_EQ(lanes.take(4), 0u);
}

TEST(Lanes, AreAddedLater) {
  Lanes lanes;
  EXPECT_EQ(lanes.take(1), 0u);
  EXPECT_EQ(lanes.take(1), 0u);
  EXPECT_EQ(lanes.take(2), 1u);
  EXPECT_EQ(lanes.take(1), 0u);
}

/// Elements that start at the same time must not all choose the one that was free.
TEST(Lanes, AreSharedByUsersThatComeTogether) {
  Lanes lanes;
  unsigned taken[16];
  {
    std::vector<std::jthread> threads;
    for (unsigned& each : taken) threads.emplace_back([&] { each = lanes.take(4); });
  }
  for (unsigned lane = 0; lane < 4; ++lane) EXPECT_EQ(std::ranges::count(taken, lane), 4);
}

}  // namespace
}  // namespace keepbox
