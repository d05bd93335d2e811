// SPDX-License-Identifier: LGPL-2.1-or-later
// Visits of zones: by time, with gaps, noise and times that jump.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/unit/count/counted.h"

namespace keepbox::test::counting {
namespace {

const std::vector<Corner> kSquare{{100, 100}, {300, 100}, {300, 300}, {100, 300}};
constexpr Corner kIn1{200, 200}, kOut1{400, 200};

Counted square(CountSettings settings = {.band = 5, .interval = 40 * kMs}) {
  return Counted::in_zone(kSquare, settings);
}

bool has(const std::vector<Corner>& corners, Corner p) { return ZoneArea(corners).contains(p); }

TEST(CountZones, ContainPointsByTheirFloats) {
  EXPECT_FALSE(has(kSquare, {99.6, 200}));
  EXPECT_FALSE(has(kSquare, {300.4, 200}));
  EXPECT_TRUE(has(kSquare, {299.5, 200}));
  EXPECT_TRUE(has(kSquare, {100, 100})) << "half open";
  EXPECT_FALSE(has(kSquare, {300, 300}));
}

/// Slanted edges, in both directions and from any corner on.
TEST(CountZones, ShareEdgesAsTiles) {
  const Corner a{13.7, 20.1}, b{211.3, 190.9}, c{400, 3}, d{5, 400};
  std::vector<Corner> upper{a, c, b}, lower{b, d, a};
  for (int turn = 0; turn < 3; ++turn, std::ranges::rotate(upper, upper.begin() + 1))
    for (const bool reversed : {false, true}) {
      if (reversed) std::ranges::reverse(lower);
      for (int i = 0; i < 1000; ++i) {
        const double t = i / 1000.0;
        const Corner p{a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
        EXPECT_NE(has(upper, p), has(lower, p)) << i;
      }
    }
}

TEST(CountZones, MayHaveAnyCorners) {
  EXPECT_TRUE(has({{100, 100}, {300, 100}, {300, 100}, {300, 200}, {300, 300}, {100, 300}}, kIn1))
      << "repeated and collinear corners";
  const std::vector<Corner> bow{{100, 100}, {300, 300}, {300, 100}, {100, 300}};
  EXPECT_TRUE(has(bow, {120, 200}));
  EXPECT_TRUE(has(bow, {280, 200}));
  EXPECT_FALSE(has(bow, {200, 120}));
  constexpr double kStep = 2 * std::numbers::pi / 10'000;
  std::vector<Corner> circle;
  for (int i = 0; i < 10'000; ++i)
    circle.push_back({300 + 200 * std::cos(i * kStep), 300 + 200 * std::sin(i * kStep)});
  EXPECT_TRUE(has(circle, {300, 101}));
  EXPECT_FALSE(has(circle, {300, 99}));
  EXPECT_NEAR(ZoneArea(circle).distance({300, 320}), 180, 0.01);
}

/// Feet that are cut off are half a pixel inside, and their edge is none that could be crossed.
TEST(CountZones, ReachTheBorderOfTheFrame) {
  for (const double bottom : {959.0, 960.0, 1200.0}) {
    Counted counted =
        Counted::in_zone({{0, 500}, {300, 500}, {300, bottom}, {0, bottom}}, {.band = 5});
    counted.walk({Corner{400, 960}, Corner{330, 970}, Corner{280, 960}, Corner{100, 2000},
                  Corner{-5, 960}, Corner{-5, 400}});
    EXPECT_EQ(counted.zone().visits, 1u) << bottom;
    EXPECT_EQ(counted.zone().longest, 2 * counted.step) << bottom;
    EXPECT_EQ(counted.zone().now, 0u) << bottom;
  }
}

TEST(CountZones, MeasureTimeNotFrames) {
  for (const int rate : {1, 5, 25, 50}) {
    Counted counted = square({.band = 5, .interval = 1000 * kMs / rate});
    counted.walk({kOut1});
    for (int i = 0; i <= rate; ++i) counted.walk({kIn1});
    counted.walk({kOut1, kOut1});
    EXPECT_EQ(counted.zone().visits, 1u) << rate;
    EXPECT_EQ(counted.zone().sum, 1000 * kMs) << rate << ": from the first sighting to the last";
    EXPECT_EQ(counted.zone().longest, 1000 * kMs);
    EXPECT_EQ(counted.zone().now, 0u);
  }
}

TEST(CountZones, HaveWhatIsInThem) {
  Counted counted = square();
  counted.walk({kOut1, kIn1, kIn1, kIn1});
  counted.see({{1, kIn1}, {2, {150, 150}}, {3, kOut1}});
  EXPECT_EQ(counted.zone().now, 2u);
  EXPECT_EQ(counted.zone().visits, 2u);
  EXPECT_EQ(counted.zone().mean(), 60 * kMs) << "of both so far";
  const auto present = counted.counter.present();
  ASSERT_EQ(present[0].size(), 2u);
  EXPECT_EQ(present[0][0].object.id, 1u);
  EXPECT_EQ(present[0][0].dwell, 120 * kMs);
  EXPECT_EQ(present[0][0].ago, 120 * kMs);
  EXPECT_EQ(present[0][1].object.id, 2u);
  EXPECT_EQ(present[0][1].dwell, 0);
}

TEST(CountZones, BridgeGaps) {
  // lost-after is 2 s: for a second, for exactly 2 s and for 3 s without the object
  for (const auto& [frames, visits] : {std::pair{25, 1}, {49, 1}, {75, 2}}) {
    Counted counted = square();
    counted.walk({kIn1, kIn1}).walk(std::vector<Place>(static_cast<size_t>(frames)));
    counted.walk({kIn1, kIn1});
    EXPECT_EQ(counted.zone().visits, static_cast<uint64_t>(visits)) << frames;
    EXPECT_EQ(counted.zone().sum, visits == 2 ? 80 * kMs : (3 + frames) * 40 * kMs);
  }
}

TEST(CountZones, EndVisitsAtTheLastSighting) {
  Counted counted = square();
  counted.walk({kIn1, kIn1}).walk(std::vector<Place>(75));
  EXPECT_EQ(counted.zone().now, 0u);
  EXPECT_EQ(counted.zone().longest, 40 * kMs);
  EXPECT_EQ(counted.events(),
            (std::vector<std::string>{"entered queue 1 at 40", "left queue 1 at 80"}));
}

TEST(CountZones, AreNotLeftByNoise) {
  Counted counted = square();
  counted.walk({Corner{200, 200}, Corner{298, 200}});
  for (int i = 0; i < 20; ++i) counted.walk({Corner{302, 200}, Corner{298, 200}});
  EXPECT_EQ(counted.zone().visits, 1u);
  counted.walk({Corner{302, 200}, Corner{310, 200}});
  EXPECT_EQ(counted.zone().now, 0u);
  EXPECT_EQ(counted.zone().longest, 41 * 40 * kMs) << "until it was inside last";
}

TEST(CountZones, AreNotEnteredByNoise) {
  Counted counted = square();
  counted.walk({Corner{320, 200}});
  for (int i = 0; i < 20; ++i) counted.walk({Corner{302, 200}, Corner{298, 200}});
  EXPECT_EQ(counted.zone().visits, 0u);
  counted.walk({Corner{297, 200}, Corner{294, 200}});
  EXPECT_EQ(counted.zone().visits, 1u);
  EXPECT_EQ(counted.zone().longest, 80 * kMs) << "since it came inside last";
}

TEST(CountZones, AreVisitedByWhatBeginsInThem) {
  Counted counted = square();
  counted.walk({Corner{298, 200}, Corner{298, 200}});
  EXPECT_EQ(counted.zone().visits, 1u) << "in the band";
  EXPECT_EQ(counted.zone().longest, 40 * kMs);
}

TEST(CountZones, HaveNoNegativeTimes) {
  for (const int64_t back : {40, 60, 1731, 2900, 20'000}) {
    Counted counted = square();
    counted.time = 30'000 * kMs;
    for (int i = 0; i < 50; ++i) counted.walk({kIn1});
    counted.time -= back * kMs;
    for (int i = 0; i < 50; ++i) {
      counted.walk({kIn1});
      for (const auto& zone : counted.counter.present())
        for (const Presence& each : zone) EXPECT_GE(each.dwell, 0);
    }
    EXPECT_EQ(counted.zone().visits, back > 3000 ? 2u : 1u) << back;
    const int64_t all = (back > 3000 ? 98 : 99) * 40 * kMs;
    EXPECT_NEAR(static_cast<double>(counted.zone().sum), static_cast<double>(all), 60.0 * kMs)
        << back;
  }
}

TEST(CountZones, AreNotVisitedAcrossAJumpOfTime) {
  Counted counted = square();
  counted.walk({kIn1, kIn1});
  counted.time += 3600 * 1000 * kMs;
  counted.walk({kIn1, kIn1});
  EXPECT_EQ(counted.zone().visits, 2u);
  EXPECT_LT(counted.zone().longest, 1000 * kMs);
}

TEST(CountZones, TakeFramesThatAreFarApart) {
  Counted counted = square({.band = 5, .interval = 5000 * kMs});
  counted.walk({kIn1, kIn1, kIn1});
  EXPECT_EQ(counted.zone().visits, 1u);
  EXPECT_EQ(counted.zone().longest, 10'000 * kMs);
}

// Frames that were not looked at.

TEST(CountZones, KeepWhatWasNotLookedFor) {
  Counted counted = square();
  counted.walk({kIn1, kIn1});
  const uint64_t others[] = {7};
  for (int i = 0; i < 100; ++i) {
    counted.time += counted.step;
    const uint64_t models[] = {0};
    counted.counter.see(
        {.time = counted.time,
         .size = counted.size,
         .skipped = i < 50 ? std::span<const uint64_t>(models) : std::span<const uint64_t>(),
         .all_skipped = i >= 50});
  }
  EXPECT_EQ(counted.zone().now, 1u) << "not seen for 4 s, but not missed";
  counted.time += counted.step;
  counted.counter.see({.time = counted.time, .size = counted.size, .skipped = others});
  EXPECT_EQ(counted.zone().now, 0u) << "another model did not look";
}

// Alarms.

TEST(CountAlarms, TellOnceThatAVisitIsLong) {
  Counted counted = square({.band = 5, .interval = 40 * kMs, .dwell_alarm = 100 * kMs});
  counted.walk({kIn1, kIn1, kIn1});
  counted.events();
  counted.walk({kIn1, kIn1});
  EXPECT_EQ(counted.events(), std::vector<std::string>{"dwelt queue 1 at 160"});
  EXPECT_TRUE(counted.counter.present()[0][0].alarmed);
  counted.walk({kOut1, kIn1, kIn1, kIn1, kIn1});
  EXPECT_EQ(counted.events(),
            (std::vector<std::string>{"left queue 1 at 200", "entered queue 1 at 280",
                                      "dwelt queue 1 at 400"}));
}

TEST(CountAlarms, TellOnceThatAZoneIsCrowded) {
  Counted counted = square({.band = 5, .interval = 40 * kMs, .crowd_alarm = 1});
  counted.see({{1, kIn1}});
  counted.events();
  counted.see({{1, kIn1}, {2, kIn1}, {3, kIn1}});
  EXPECT_EQ(counted.events(),
            (std::vector<std::string>{"entered queue 2 at 80", "entered queue 3 at 80",
                                      "crowded queue at 80"}));
  counted.see({{1, kIn1}, {2, kIn1}, {3, kOut1}});
  EXPECT_EQ(counted.events().size(), 1u) << "still above the number";
  counted.see({{1, kIn1}, {2, kOut1}});
  EXPECT_FALSE(counted.zone().crowded);
  counted.see({{1, kIn1}, {2, kIn1}});
  EXPECT_EQ(counted.events().back(), "crowded queue at 200");
}

TEST(CountAlarms, MayBeOfAZone) {
  Counted counted({.lines = {},
                   .zones = {{.name = "a", .corners = kSquare, .dwell_alarm = 0},
                             {.name = "b", .corners = kSquare, .crowd_alarm = 0}}});
  counted.walk({kIn1});
  EXPECT_EQ(counted.events(), (std::vector<std::string>{"entered a 1 at 40", "entered b 1 at 40",
                                                        "dwelt a 1 at 40", "crowded b at 40"}));
}

}  // namespace
}  // namespace keepbox::test::counting
