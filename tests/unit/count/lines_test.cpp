// SPDX-License-Identifier: LGPL-2.1-or-later
// Crossings of lines: small cases in which counters differ, each with the right count.
#include <gtest/gtest.h>

#include "tests/unit/count/counted.h"

namespace keepbox::test::counting {
namespace {

constexpr Corner kLeft{0, 300}, kRight{640, 300};

/// Returns the counts with a band of 5 pixels and with that of the default.
std::string counts(const std::vector<Place>& path, Corner a = kLeft, Corner b = kRight) {
  std::string out = Counted::at_line(a, b, 5).walk(path).of_line();
  const std::string as_share = Counted::at_line(a, b, CountSettings{}.band).walk(path).of_line();
  return out == as_share ? out : out + " or " + as_share;
}

std::vector<double> steps(double from, double to, double step) {
  std::vector<double> out;
  for (double y = from; y <= to; y += step) out.push_back(y);
  return out;
}

TEST(CountLines, AreCrossedOnce) {
  EXPECT_EQ(counts(down({200, 240, 280, 320, 360, 400, 440})), "0/1");
  EXPECT_EQ(counts(down({440, 400, 360, 320, 280, 240, 200})), "1/0");
  EXPECT_EQ(counts(down({200, 500})), "0/1") << "in one step";
  EXPECT_EQ(counts(down({200, 280, 340, 440, 440, 340, 280, 200})), "1/1") << "and back";
  EXPECT_EQ(counts(down(steps(280, 320, 1))), "0/1") << "a pixel per frame";
  EXPECT_EQ(counts(down(steps(280, 320, 0.125))), "0/1") << "slower than the band";
}

TEST(CountLines, AreCrossedWhileAnObjectIsNotFound) {
  EXPECT_EQ(counts(down({200, 240, 280, -1, -1, -1, 440, 480})), "0/1");
}

TEST(CountLines, AreNotCrossedByNoise) {
  EXPECT_EQ(counts(down({260, 298, 302, 298, 302, 298, 302, 298, 260})), "0/0");
  EXPECT_EQ(counts(down({260, 298, 302, 298, 302, 298, 302, 340})), "0/1");
  EXPECT_EQ(Counted::at_line(kLeft, kRight, 0)
                .walk(down({260, 298, 302, 298, 302, 298, 302, 340}))
                .of_line(),
            "2/3")
      << "without a band each crossing counts";
}

TEST(CountLines, EndAtTheirEnds) {
  EXPECT_EQ(counts(down(steps(200, 440, 40), 700)), "0/0");
  const std::vector<Place> around{Corner{600, 200}, Corner{700, 260}, Corner{700, 380},
                                  Corner{600, 440}};
  EXPECT_EQ(counts(around), "0/0");
  std::vector<Place> and_through = around;
  and_through.push_back(Corner{600, 200});
  EXPECT_EQ(counts(and_through), "1/0");
}

TEST(CountLines, TakePointsThatAreExactlyOnThem) {
  EXPECT_EQ(counts(down({280, 300, 300, 320, 360, 440})), "0/1");
  EXPECT_EQ(counts(down({280, 300, 300, 280, 240})), "0/0");
  EXPECT_EQ(counts(down({440, 300, 300, 280, 200})), "1/0");
  EXPECT_EQ(counts(down({440, 300, 300, 320, 400})), "0/0");
}

/// The side that such a path comes from is unknown.
TEST(CountLines, AreNotCrossedByWhatBeginsOnOrBehindThem) {
  EXPECT_EQ(counts(down({300, 320, 440})), "0/0");
  EXPECT_EQ(counts(down({300, 280, 200})), "0/0");
  EXPECT_EQ(counts(down({300, 300, 280, 320, 400})), "0/1") << "it was on one side then";
  EXPECT_EQ(counts(down({320, 440})), "0/0");
}

TEST(CountLines, MayBeAtTheEdgeOfTheFrame) {
  EXPECT_EQ(counts(down(steps(20, 180, 20)), {0, 40}, {640, 40}), "0/1");
}

/// Feet are on the lower edge of the frame while they are cut off.
TEST(CountLines, ReachTheBorderOfTheFrame) {
  for (const double end : {959.0, 960.0, 1200.0})
    for (const double feet : {959.9, 960.0, 1000.0}) {
      std::vector<Place> path;
      for (double x = 100; x < 500; x += 50) path.push_back(Corner{x, feet});
      EXPECT_EQ(counts(path, {310, 0}, {310, end}), "1/0") << end << ' ' << feet;
    }
}

TEST(CountLines, CountObjectsApart) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  counted.see({{1, {200, 280}}, {2, {400, 320}}});
  counted.see({{1, {200, 320}}, {2, {400, 280}}});
  EXPECT_EQ(counted.of_line(), "1/1");
}

TEST(CountLines, CountObjectsOfModelsApart) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  for (const double y : {200.0, 400.0}) {
    const CountPoint points[] = {{.object = {1, 7}, .at = {100, y}, .height = 80},
                                 {.object = {2, 7}, .at = {500, 600 - y}, .height = 80}};
    counted.time += counted.step;
    counted.counter.see({.time = counted.time, .size = counted.size, .points = points});
  }
  EXPECT_EQ(counted.of_line(), "1/1");
}

TEST(CountLines, MayHaveAnyDirection) {
  std::vector<Place> path;
  for (double x = 100; x < 500; x += 50) path.push_back(Corner{x, 240});
  EXPECT_EQ(counts(path, {300, 0}, {300, 480}), "1/0") << "from right to left, looking down";
  EXPECT_EQ(counts(path, {300, 480}, {300, 0}), "0/1");
  EXPECT_EQ(counts(path, {100, 0}, {500, 480}), "1/0");
}

/// The object is 3 pixels behind the line until it leaves the band.
TEST(CountLines, WaitUntilAnObjectHasLeftTheBand) {
  EXPECT_EQ(counts(down({280, 298, 301, 303, 303, 303})), "0/0");
  EXPECT_EQ(counts(down({280, 298, 301, 303, 303, 303, 310})), "0/1");
  EXPECT_EQ(counts(down({280, 298, 301, 303, 303, 303, 280})), "0/0");
}

TEST(CountLines, TellWhenTheObjectPassedThem) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  counted.walk(down({280, 298, 301, 303, 303, 310, 320}));
  EXPECT_EQ(counted.events(), std::vector<std::string>{"crossed gate out 1 at 120"});
}

/// A path that turns around an end within the band is no crossing.
TEST(CountLines, AreNotCrossedAroundTheirEndsByNoise) {
  const std::vector<Place> loop{Corner{638, 280}, Corner{638, 298}, Corner{638, 302},
                                Corner{642, 302}, Corner{642, 298}, Corner{638, 298}};
  std::vector<Place> path;
  for (int i = 0; i < 4; ++i) path.insert(path.end(), loop.begin(), loop.end());
  path.push_back(Corner{638, 270});
  EXPECT_EQ(counts(path), "0/0");
  path.push_back(Corner{600, 330});
  EXPECT_EQ(counts(path), "0/1");
}

/// Whatever the place of the common point, a path through it crosses one of two lines.
TEST(CountLines, AreCrossedOnceWhereTwoMeet) {
  const std::vector<std::vector<Corner>> chains{{{0, 300}, {320, 300}, {640, 300}},
                                                {{640, 300}, {320, 300}, {0, 300}},
                                                {{0, 200}, {320, 300}, {640, 200}},
                                                {{320, 0}, {320, 300}, {640, 310}}};
  const std::vector<std::vector<Corner>> paths{{{320, 260}, {320, 340}},
                                               {{320, 260}, {320, 300}, {320, 340}},
                                               {{300, 260}, {340, 340}},
                                               {{260, 300}, {320, 300}, {330, 350}},
                                               {{300, 340}, {320, 300}, {340, 260}}};
  for (size_t c = 0; c < chains.size(); ++c)
    for (size_t p = 0; p < paths.size(); ++p) {
      const auto& chain = chains[c];
      Counted counted({.lines = {{.name = "a", .points = {chain[0], chain[1]}},
                                 {.name = "b", .points = {chain[1], chain[2]}}},
                       .zones = {}},
                      {.band = 0, .interval = 40 * kMs});
      counted.walk({paths[p].begin(), paths[p].end()});
      int64_t all = 0;
      for (const LineTotals& totals : counted.counter.lines())
        all +=
            static_cast<int64_t>(totals.crossed[kIn]) - static_cast<int64_t>(totals.crossed[kOut]);
      // From one side of the whole chain to the other.
      const auto side = [&](Corner at) {
        const LineSegment first(chain[0], chain[1]), second(chain[1], chain[2]);
        const bool convex = first.side(chain[2]) == kIn;
        const bool left = convex ? first.side(at) == kIn && second.side(at) == kIn
                                 : first.side(at) == kIn || second.side(at) == kIn;
        return left ? 1 : 0;
      };
      EXPECT_EQ(all, side(paths[p].back()) - side(paths[p].front())) << c << ' ' << p;
    }
}

TEST(CountLines, MayNameTheirDirections) {
  Counted counted({.lines = {{.name = "door", .points = {kLeft, kRight}, .directions = {"a", "b"}}},
                   .zones = {}});
  counted.walk(down({200, 400, 200}));
  EXPECT_EQ(counted.events(),
            (std::vector<std::string>{"crossed door b 1 at 80", "crossed door a 1 at 120"}));
}

TEST(CountLines, ScaleWithTheFrameIfTheyAreFractions) {
  Counted counted = Counted::at_line({0, 0.5}, {1, 0.5}, 5);
  counted.size = {640, 480};
  counted.walk(down({200, 280}));
  EXPECT_EQ(counted.of_line(), "0/1") << "at 240";
  counted.size = {1280, 960};
  counted.walk(down({400, 440}));
  EXPECT_EQ(counted.of_line(), "0/1") << "another size begins paths again";
  counted.walk(down({500}));
  EXPECT_EQ(counted.of_line(), "0/2") << "at 480; the count goes on";
}

// Crossings that no rule can decide.

TEST(UncertainCrossings, AreThoseOfAnIdThatBeginsWhereAnotherWasLost) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  counted.walk(down({200, 280}), 1).walk(down({320, 360, 440}), 2);
  EXPECT_EQ(counted.of_line(), "0/0");
  EXPECT_EQ(counted.counter.lines()[0].uncertain[kOut], 0u) << "it may be seen again";
  counted.walk(std::vector<Place>(51));
  EXPECT_EQ(counted.of_line(), "0/0");
  EXPECT_EQ(counted.counter.lines()[0].uncertain[kOut], 1u);
  EXPECT_EQ(counted.events(), std::vector<std::string>{"uncertain gate out 1 at 80"});
}

TEST(UncertainCrossings, HaveTheWayThatWasSeen) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  counted.walk(down({280, 302}), 1).walk(down({330, 360}), 2).walk(std::vector<Place>(55));
  EXPECT_EQ(counted.of_line(), "0/0");
  EXPECT_EQ(counted.counter.lines()[0].uncertain[kOut], 1u) << "it was behind the line already";
}

TEST(UncertainCrossings, AreNotThoseOfObjectsThatComeBack) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  counted.walk(down({200, 280}), 1).walk(down({320, 360}), 2).walk(down({260, 240}), 1);
  counted.walk(std::vector<Place>(60));
  EXPECT_EQ(counted.counter.lines()[0].uncertain[kOut], 0u);
}

TEST(UncertainCrossings, AreNotThoseOfObjectsFarAwayOrOnTheSameSide) {
  Counted far = Counted::at_line(kLeft, kRight, 5), same = far;
  far.walk(down({200, 280}, 100), 1).walk(down({320, 440}, 500), 2).walk(std::vector<Place>(60));
  EXPECT_EQ(far.counter.lines()[0].uncertain[kOut], 0u);
  same.walk(down({200, 260}), 1).walk(down({270, 280}), 2).walk(std::vector<Place>(60));
  EXPECT_EQ(same.counter.lines()[0].uncertain[kOut], 0u);
}

TEST(UncertainCrossings, AreOfOneNewObjectEach) {
  Counted counted = Counted::at_line(kLeft, kRight, 5);
  counted.see({{1, {300, 280}}});
  counted.see({{2, {300, 320}}, {3, {310, 320}}});
  counted.walk(std::vector<Place>(60));
  EXPECT_EQ(counted.counter.lines()[0].uncertain[kOut], 1u);
}

}  // namespace
}  // namespace keepbox::test::counting
