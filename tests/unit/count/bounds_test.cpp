// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that come and go by the million, ids that are used again, and points and times that no
// camera has.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/count/counted.h"

namespace keepbox::test::counting {
namespace {

CountShapes some_shapes() {
  return {.lines = {{.name = "line", .points = {Corner{0, 240}, Corner{640, 240}}}},
          .zones = {{.name = "zone", .corners = {{100, 100}, {500, 100}, {300, 400}}}}};
}

TEST(CounterBounds, KeepNoMemoryOfAMillionIds) {
  Counted counted(some_shapes(), {.lost_after = 200 * kMs, .interval = 40 * kMs});
  size_t before = 0;
  uint64_t id = 0;
  std::minstd_rand random(1);
  for (int frame = 0; frame < 10'000; ++frame) {
    std::map<uint64_t, Corner> points;
    for (int i = 0; i < 100; ++i)
      points[++id] = {static_cast<double>(random() % 640), static_cast<double>(random() % 480)};
    counted.see(points);
    counted.events();
    if (frame == 1000) before = mallinfo2().uordblks;
  }
  EXPECT_EQ(id, 1'000'000u);
  EXPECT_LE(counted.counter.objects(), 100 * 7u);
  EXPECT_LT(mallinfo2().uordblks, before + before / 10 + 10'000);
  EXPECT_GT(counted.counter.zones()[0].visits, 100'000u);
}

TEST(CounterBounds, CountAsManyObjectsAsThereCanBe) {
  Counted counted(some_shapes(), {.lost_after = 3600 * 1000 * kMs, .interval = 40 * kMs});
  std::vector<CountPoint> points;
  for (uint64_t id = 1; id <= 10'000; ++id)
    points.push_back({.object = {0, id}, .at = {300, 200}, .height = 80});
  for (int frame = 0; frame < 8; ++frame) {
    counted.time += counted.step;
    counted.counter.see({.time = counted.time, .size = counted.size, .points = points});
    for (CountPoint& each : points) each.object.id += 10'000;
  }
  EXPECT_TRUE(counted.counter.is_full());
  EXPECT_EQ(counted.counter.objects(), Counter::kMaxObjects);
  EXPECT_EQ(counted.zone().now, Counter::kMaxObjects);
}

TEST(CounterBounds, TakeAnIdOnceAFrame) {
  Counted counted(some_shapes());
  for (const double y : {200.0, 210.0, 220.0}) {
    const CountPoint points[] = {{.object = {0, 1}, .at = {300, y}, .height = 80},
                                 {.object = {0, 1}, .at = {300, 400}, .height = 80}};
    counted.time += counted.step;
    counted.counter.see({.time = counted.time, .size = counted.size, .points = points});
  }
  EXPECT_EQ(counted.of_line(), "0/0") << "a second box with the id is no way of it";
}

TEST(CounterBounds, CountIdsThatAreUsedAgain) {
  Counted counted(some_shapes());
  counted.walk(down({200, 220})).walk(std::vector<Place>(60)).walk(down({300, 320}));
  EXPECT_EQ(counted.of_line(), "0/0") << "another object after it was lost";
}

TEST(CounterBounds, LeaveOutPointsThatAreNowhere) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kEndless = std::numeric_limits<double>::infinity();
  Counted counted(some_shapes());
  counted.walk(down({200, 220}));
  for (const double odd : {kNan, kEndless, -kEndless, 1e300})
    counted.walk({Corner{odd, 300}, Corner{300, odd}});
  EXPECT_EQ(counted.of_line(), "0/0");
  counted.walk(down({300}));
  EXPECT_EQ(counted.of_line(), "0/1");
}

TEST(CounterBounds, TakeAnyTimes) {
  Counted counted(some_shapes());
  std::minstd_rand random(2);
  for (int i = 0; i < 2000; ++i) {
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
    const int64_t times[] = {std::numeric_limits<int64_t>::min(), 0, kLast, -1,
                             std::min(counted.time, kLast - 40 * kMs) + 40 * kMs};
    counted.see({{1 + random() % 3, {300, 200 + static_cast<double>(random() % 100)}}},
                times[random() % std::size(times)]);
    const ZoneTotals& zone = counted.zone();
    EXPECT_GE(zone.sum, 0);
    EXPECT_GE(zone.longest, 0);
    EXPECT_LE(zone.now, 3u);
    for (const CountEvent& event : counted.counter.take_events()) {
      EXPECT_GE(event.ago, 0);
      EXPECT_GE(event.dwell, 0);
    }
  }
}

TEST(CounterBounds, EndInNothing) {
  Counted counted(some_shapes());
  counted.walk(down({200, 220, 300}));
  counted.counter.end();
  EXPECT_EQ(counted.zone().now, 0u);
  EXPECT_EQ(counted.zone().visits, 1u);
  EXPECT_EQ(counted.of_line(), "0/1");
  counted.walk(down({200}));
  EXPECT_EQ(counted.of_line(), "0/1") << "the way begins again";
  counted.counter.restart();
  EXPECT_EQ(counted.of_line(), "0/0");
  EXPECT_EQ(counted.zone().visits, 0u);
}

}  // namespace
}  // namespace keepbox::test::counting
