// SPDX-License-Identifier: LGPL-2.1-or-later
// The time of streams whose timestamps jump back.
#include "core/track/streamclock.h"

#include <gtest/gtest.h>

#include <limits>

namespace keepbox {
namespace {

constexpr int64_t kMsec = 1'000'000, kFrame = 40 * kMsec, kLostAfter = 1000 * kMsec;

TEST(StreamClock, TellsHowFarTimeGoesBack) {
  const auto step = [](int64_t back) {
    return step_between(10'000 * kMsec, 10'000 * kMsec - back, kFrame, kLostAfter);
  };
  EXPECT_EQ(step(-kFrame), TimeStep::kOn);
  EXPECT_EQ(step(0), TimeStep::kOn);
  EXPECT_EQ(step(kFrame), TimeStep::kOn);
  EXPECT_EQ(step(2 * kFrame), TimeStep::kBack);
  EXPECT_EQ(step(2000 * kMsec), TimeStep::kBack);
  EXPECT_EQ(step(2001 * kMsec), TimeStep::kRestart);
}

TEST(StreamClock, CountsAFrameWhereTimeGoesBack) {
  StreamClock clock;
  const auto take = [&](int64_t ms) { return clock.take(ms * kMsec, kFrame, kLostAfter); };
  EXPECT_EQ(take(4000), TimeStep::kOn);
  EXPECT_EQ(clock.now(), 4000 * kMsec);
  EXPECT_EQ(take(3980), TimeStep::kOn);
  EXPECT_EQ(clock.now(), 4000 * kMsec);
  EXPECT_EQ(take(2269), TimeStep::kBack);
  EXPECT_EQ(clock.now(), 4040 * kMsec);
  EXPECT_EQ(clock.in_stream(clock.now()), 2269 * kMsec);
  EXPECT_EQ(clock.in_stream(4000 * kMsec), 2229 * kMsec);
  EXPECT_EQ(clock.in_stream(1000 * kMsec), 0);
  EXPECT_EQ(take(2309), TimeStep::kOn);
  EXPECT_EQ(clock.now(), 4080 * kMsec);
  EXPECT_EQ(take(1000), TimeStep::kBack) << "again";
  EXPECT_EQ(clock.now(), 4120 * kMsec);
  EXPECT_EQ(take(9000), TimeStep::kOn);
  EXPECT_EQ(take(0), TimeStep::kRestart);
  EXPECT_EQ(clock.now(), 0);
  EXPECT_EQ(take(40), TimeStep::kOn) << "once";
}

TEST(StreamClock, TakesAnyNumbers) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();
  StreamClock clock;
  for (int i = 0; i < 9; ++i)
    for (const int64_t time : {kMost, kLeast, kMost / 2, int64_t{0}, kMost / 4})
      for (const int64_t interval : {int64_t{1}, kMost})
        for (const int64_t lost_after : {int64_t{0}, kMost}) {
          clock.take(time, interval, lost_after);
          EXPECT_GE(clock.now(), 0);
        }
}

}  // namespace
}  // namespace keepbox
