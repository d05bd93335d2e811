// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlap of oriented boxes compared with float64, and their map to the frame.
#include "core/formula/oriented.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/unit/core/oriented64.h"

namespace keepbox {
namespace {

using test::Oriented64;

OrientedShape shape(const Oriented64& of) {
  return Oriented::shape(test::upright(of), static_cast<float>(of.angle), {}, 0);
}

Rules rules_for(float threshold, OrientedOverlap overlap = OrientedOverlap::kPolygon) {
  Rules rules;
  rules.contract.oriented = overlap;
  rules.iou_threshold = threshold;
  rules.reach = reach_of(threshold, false);
  return rules;
}

template <class Geometry>
float measured(const Rules& rules, const OrientedShape& a, const OrientedShape& b) {
  return Geometry::measure(rules, a, Geometry::area(a, {}), b, Geometry::area(b, {}));
}

double polygon(const Oriented64& a, const Oriented64& b) {
  return measured<OrientedPolygon>(rules_for(0.5f), shape(a), shape(b));
}

TEST(OrientedPolygon, MatchesKnownValues) {
  const double diagonal = M_PI / 4, degree = M_PI / 180;
  const Oriented64 unit{0.5, 0.5, 1, 1, 0};
  EXPECT_NEAR(polygon(unit, {0.5, 0.5, 1, 1, diagonal}), std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(polygon(unit, {0.25, 0.5, 0.5, 1, 0}), 0.5, 1e-6);
  EXPECT_NEAR(polygon(unit, {0.25, 0.25, 0.5, 0.5, 0}), 0.25, 1e-6);
  EXPECT_NEAR(polygon(unit, {0.5, 0.5, 1, 1, M_PI / 2}), 1, 1e-6);
  EXPECT_NEAR(polygon({565, 565, 10, 10, 0}, {565, 565, 10, 8.3, 0}), 0.83, 1e-5);
  EXPECT_NEAR(polygon({296.6620178222656, 458.73883056640625, 23.515729904174805, 47.677001953125,
                       0.08795166015625 * degree},
                      {296.66201, 458.73882, 23.51573, 47.67702, 0.087951 * degree}),
              1, 1e-5);
  EXPECT_NEAR(polygon({10, 10, 8, 2, 0.7}, {10, 10, 2, 8, 0.7 - M_PI / 2}), 1, 1e-5) << "swapped";
  EXPECT_EQ(polygon({160, 153, 230, 23, -37}, {-1.1e17, 1.4e18, 1000, 1000, 1612}), 0);
}

TEST(OrientedPolygon, IsExactInSimpleCases) {
  EXPECT_EQ(polygon({5, 7, 4, 3, 2.1}, {5, 7, 4, 3, 2.1}), 1) << "equal";
  EXPECT_EQ(polygon({0, 0, 2, 2, 0}, {2, 0, 2, 2, 0}), 0) << "touching";
  EXPECT_EQ(polygon({0, 0, 4, 4, 0}, {1, 1, 2, 2, 0}), 0.25) << "nested, two sides in common";
  EXPECT_EQ(polygon({0, 0, 4, 4, 0}, {20, 0, 4, 4, 1}), 0) << "apart";
  EXPECT_EQ(polygon({0, 0, 4, 4, 0.3}, {0, 0, 0, 3, 1}), 0) << "without area";
  EXPECT_EQ(polygon({0, 0, 4, 4, 0.3}, {0, 0, -2, 3, 1}), 0) << "with a negative side";
  EXPECT_TRUE(std::isnan(polygon({0, 0, 0, 0, 0}, {0, 0, 0, 3, 1}))) << "both without area";
}

/// Pairs of boxes of all kinds.
class BoxPairs {
 public:
  explicit BoxPairs(unsigned seed) : random_(seed) {}

  std::pair<Oriented64, Oriented64> next() {
    const Oriented64 a = one(number(-50, 700), number(-50, 700));
    Oriented64 b = one(a.x + number(-1, 1) * a.w, a.y + number(-1, 1) * a.h);
    switch (random_() % 8) {
      case 0: b = {a.x, a.y, a.w, a.h, a.angle + number(-0.1, 0.1)}; break;  // nearly equal
      case 1: b = {a.x, a.y, a.w * number(0, 1), a.h * number(0, 1), a.angle}; break;  // nested
      case 2: b.angle = a.angle + M_PI / 2; break;                                     // crossing
      case 3:  // touching, side by side
        b = {a.x + std::cos(a.angle) * a.w, a.y + std::sin(a.angle) * a.w, a.w, a.h, a.angle};
        break;
      case 4: b = {a.x, a.y, a.h, a.w, a.angle + number(-20, 20)}; break;
      default: break;
    }
    return {test::rounded(a), test::rounded(b)};
  }

 private:
  double number(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  Oriented64 one(double x, double y) {
    const double thin = random_() % 3 == 0 ? 0.02 : 1;
    return {x, y, number(1, 200), number(1, 200) * thin, number(-7, 7)};
  }
  std::mt19937 random_;
};

/// Returns the effect of rounding sines and corners for thin boxes.
double rounding(const Oriented64& a, const Oriented64& b) {
  const double thin = std::min({a.w, a.h, b.w, b.h}), far = std::max({a.w, a.h, b.w, b.h, 50.0});
  return 2e-6 + 1e-6 * far / thin;
}

TEST(OrientedPolygon, IsNearTheTruth) {
  BoxPairs pairs(1);
  double worst = 0, overlapping = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto [a, b] = pairs.next();
    const double truth = test::polygon_iou(a, b), found = polygon(a, b);
    ASSERT_NEAR(found, truth, rounding(a, b)) << i << test::text(a) << test::text(b);
    worst = std::max(worst, std::abs(found - truth));
    overlapping += truth > 0.01 ? 1 : 0;
  }
  EXPECT_GT(overlapping, 100000);
  RecordProperty("worst", std::to_string(worst));
}

TEST(OrientedGaussian, IsNearUltralyticsFormula) {
  BoxPairs pairs(2);
  const Rules all = [] {
    Rules rules = rules_for(0.5f, OrientedOverlap::kProbIou);
    rules.reach = reach_of(0.5f, true);
    return rules;
  }();
  double overlapping = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto [a, b] = pairs.next();
    const double truth = test::prob_iou(a, b);
    const double found = measured<OrientedGaussian>(all, shape(a), shape(b));
    // The square root of a small difference amplifies its rounding error.
    ASSERT_NEAR(found, truth, 2e-5 + 4e-7 / (1 - truth) + rounding(a, b))
        << i << test::text(a) << test::text(b);
    overlapping += truth > 0.01 ? 1 : 0;
  }
  EXPECT_GT(overlapping, 100000);
}

template <class Geometry>
class OrientedGeometry : public testing::Test {};
using Geometries = testing::Types<OrientedPolygon, OrientedGaussian>;
TYPED_TEST_SUITE(OrientedGeometry, Geometries);

TYPED_TEST(OrientedGeometry, IsSymmetricToTheBit) {
  BoxPairs pairs(3);
  const Rules rules = rules_for(0.3f);
  for (int i = 0; i < 100000; ++i) {
    const auto [a, b] = pairs.next();
    const OrientedShape x = shape(a), y = shape(b);
    const float one = measured<TypeParam>(rules, x, y), other = measured<TypeParam>(rules, y, x);
    ASSERT_EQ(std::bit_cast<uint32_t>(one), std::bit_cast<uint32_t>(other)) << test::text(a);
  }
}

TYPED_TEST(OrientedGeometry, GuessesNothingThatItDecidesOtherwise) {
  for (const float threshold : {0.0f, 1e-3f, 0.1f, 0.45f, 0.9f, 1.0f})
    for (const bool inclusive : {false, true}) {
      BoxPairs pairs(4);
      Rules rules = rules_for(threshold);
      rules.contract.iou_inclusive = inclusive;
      for (int i = 0; i < 20000; ++i) {
        const auto [a, b] = pairs.next();
        const OrientedShape x = shape(a), y = shape(b);
        const float area_x = TypeParam::area(x, {}), area_y = TypeParam::area(y, {});
        const Guess guess = TypeParam::guess(rules, x, area_x, y, area_y);
        const bool truth = TypeParam::decide(rules, x, area_x, y, area_y);
        if (guess.sure) {
          ASSERT_EQ(guess.over, truth) << threshold << test::text(a) << test::text(b);
        }
        if (disjoint_never_overlap(rules) &&
            !touch(TypeParam::bounds(x, rules), TypeParam::bounds(y, rules))) {
          ASSERT_FALSE(truth);
        }
      }
    }
}

/// Bounds by the threshold lose no overlap beyond it by the formula in float64.
TEST(OrientedGaussian, BoundsIncludeAllOverlapsBeyondTheThreshold) {
  size_t beyond = 0, refused = 0;
  for (const float threshold : {1e-6f, 0.01f, 0.2f, 0.45f, 0.8f, 0.99f}) {
    BoxPairs pairs(5);
    const Rules rules = rules_for(threshold);
    for (int i = 0; i < 50000; ++i) {
      const auto [a, b] = pairs.next();
      const OrientedShape x = shape(a), y = shape(b);
      const bool near =
          touch(OrientedGaussian::bounds(x, rules), OrientedGaussian::bounds(y, rules));
      const bool over = test::prob_iou(a, b) > threshold + 1e-5;
      if (over) {
        ASSERT_TRUE(near) << threshold << test::text(a) << test::text(b);
      }
      beyond += over ? 1 : 0;
      refused += near ? 0 : 1;
    }
  }
  EXPECT_GT(beyond, 20000u);
  EXPECT_GT(refused, 20000u) << "bounds that hold everything";
}

Letterbox scaled(float x, float y) {
  return {.frame = {1000, 1000},
          .model = {640, 640},
          .scale_x = x,
          .scale_y = y,
          .pad_x = 5,
          .pad_y = 7};
}

Detection emit(const Letterbox& letterbox, const Box& box, float angle, Tables tables = {},
               RegionRules regions = {}) {
  Rules rules;
  rules.oriented = true;
  rules.regions = regions;
  return emitted({.key = order_key(0.5f, 3, 0), .box = box, .angle = angle}, letterbox, rules,
                 tables);
}

TEST(OrientedOnFrame, KeepsItsAngleIfBothScalesAreEqual) {
  for (const float angle : {0.3f, -2.0f, 9.0f, 0.0f}) {
    const Detection found = emit(scaled(2, 2), {25, 37, 45, 47}, angle);
    EXPECT_EQ(found.angle, angle);
    EXPECT_EQ(found.box, (Box{40, 60, 80, 80}));
  }
}

TEST(OrientedOnFrame, KeepsItsLongerSideAndAreaOtherwise) {
  for (const double angle : {0.0, 0.4, 1.5, 3.0, -1.0, -4.0, 8.0})
    for (const bool wide : {true, false}) {
      const double w = wide ? 40 : 10, h = wide ? 10 : 40, turn = angle + (wide ? 0 : M_PI / 2);
      const float half_w = static_cast<float>(w) / 2, half_h = static_cast<float>(h) / 2;
      const Detection found =
          emit(scaled(2, 0.5f), {105 - half_w, 107 - half_h, 105 + half_w, 107 + half_h},
               static_cast<float>(angle));
      const double dx = 40 * std::cos(turn) * 2, dy = 40 * std::sin(turn) * 0.5;
      const double width = found.box.x2 - found.box.x1, height = found.box.y2 - found.box.y1;
      const double longest = std::hypot(dx, dy), other = 400 / longest;
      EXPECT_NEAR(width, wide ? longest : other, 1e-3) << angle;
      EXPECT_NEAR(height, wide ? other : longest, 1e-3) << angle;
      EXPECT_NEAR((found.box.x1 + found.box.x2) / 2, 200, 1e-3);
      EXPECT_NEAR((found.box.y1 + found.box.y2) / 2, 50, 1e-3);
      const double side = found.angle + (wide ? 0 : M_PI / 2);
      EXPECT_NEAR(std::sin(side - std::atan2(dy, dx)), 0, 1e-5) << angle;
    }
}

TEST(OrientedOnFrame, IsNeverClipped) {
  const Letterbox same{.frame = {100, 100}, .model = {100, 100}};
  const Box beyond{-30, 40, -2, 60};  // a rotated corner reaches into the frame
  EXPECT_TRUE(is_empty(emit(same, beyond, 0).box));
  const Detection part = emit(same, beyond, 1.2f);
  EXPECT_TRUE(is_empty(part.box) && !is_filtered(part.box));
  EXPECT_EQ(emit(same, {-20, 40, -2, 80}, 1.2f).box, (Box{-20, 40, -2, 80}));
  EXPECT_FALSE(is_filtered(emit(same, {-20, 40, -2, 80}, 1.2f).box));
  EXPECT_TRUE(is_empty(emit(same, {40, 40, 40, 80}, 1.2f).box)) << "without area";
  EXPECT_TRUE(is_empty(emit(same, {3e38f, 0, 3.3e38f, 10}, 1).box)) << "beyond all floats";
}

TEST(OrientedOnFrame, IsFilteredBySidesAndBounds) {
  const Letterbox same{.frame = {100, 100}, .model = {100, 100}};
  const SizeLimits limits{.min_width = 40, .max_height = 5};
  const Box thin{30, 48, 70, 52};
  EXPECT_EQ(emit(same, thin, 1.5f, {.size_limits = &limits}).box, thin);
  EXPECT_TRUE(is_filtered(emit(same, {48, 30, 52, 70}, 1.5f, {.size_limits = &limits}).box));
  const Region lower{.box = {0, 60, 100, 100}};
  const RegionRules touches{.wanted = 1, .rule = RegionRule::kTouch};
  EXPECT_EQ(emit(same, thin, 1.5f, {.regions = &lower}, touches).box, thin);
  EXPECT_TRUE(is_filtered(emit(same, thin, 0, {.regions = &lower}, touches).box));
}

OrientedBox turned(float angle) { return {.box = {10, 20, 50, 40}, .angle = angle}; }

TEST(OrientedCorners, UprightBoxesAreUnchanged) {
  EXPECT_EQ(keepbox::around(turned(0)), (Box{10, 20, 50, 40}));
  const auto& corners = corners_of(turned(0)).at;
  EXPECT_EQ(corners[0].x, 10);
  EXPECT_EQ(corners[1].x, 50);
  EXPECT_EQ(corners[1].y, 20);
  EXPECT_EQ(corners[3].y, 40);
}

TEST(OrientedCorners, TurnClockwiseAboutTheCentre) {
  // 3-4-5: the cosine is 0.8, the sine 0.6.
  const auto& corners = corners_of(turned(0.6435011f)).at;
  const Corner expected[] = {{20, 10}, {52, 34}, {40, 50}, {8, 26}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(corners[i].x, expected[i].x, 1e-4);
    EXPECT_NEAR(corners[i].y, expected[i].y, 1e-4);
  }
  const Box around = keepbox::around(turned(0.6435011f));
  EXPECT_NEAR(around.x1, 8, 1e-4);
  EXPECT_NEAR(around.y1, 10, 1e-4);
  EXPECT_NEAR(around.x2, 52, 1e-4);
  EXPECT_NEAR(around.y2, 50, 1e-4);
}

}  // namespace
}  // namespace keepbox
