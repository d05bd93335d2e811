// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlap and order of boxes.
#include "core/formula/geometry.h"
#include "core/model/contracts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace keepbox {
namespace {

const NmsContract& contract(const char* name) { return *find_contract(name); }

bool overlap_by(const Box& a, const Box& b, float threshold, const NmsContract& by) {
  return overlap<Upright>({.contract = by, .iou_threshold = threshold}, {.box = a}, {.box = b});
}

TEST(OrderKey, RoundTripsItsParts) {
  for (const float score : {0.0f, 1.0f, 0.25f, -3.5f, 1e-40f, 3e38f}) {
    const uint64_t key = order_key(score, kMaxAnchors - 1, kMaxClasses - 1);
    EXPECT_EQ(key_score(key), score);
    EXPECT_EQ(key_anchor(key), kMaxAnchors - 1);
    EXPECT_EQ(key_class(key), kMaxClasses - 1);
  }
}

TEST(OrderKey, OrdersByScoreThenAnchorThenClass) {
  const std::vector<uint64_t> sorted{order_key(0.9f, 7, 3),  order_key(0.5f, 1, 1),
                                     order_key(0.5f, 1, 2),  order_key(0.5f, 2, 0),
                                     order_key(0.0f, 4, 0),  order_key(-0.0f, 5, 0),
                                     order_key(-0.5f, 0, 0), order_key(-2.0f, 0, 0)};
  EXPECT_TRUE(std::ranges::is_sorted(sorted));
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
}

TEST(Overlaps, ComparesStrictlyByDefault) {
  const Box big{0, 0, 2, 1}, half{0, 0, 1, 1};
  EXPECT_FALSE(overlap_by(big, half, 0.5f, contract("exact")));
  EXPECT_TRUE(overlap_by(big, half, 0.499f, contract("exact")));
  EXPECT_TRUE(overlap_by(big, half, 0.5f, contract("inclusive")));
}

TEST(Overlaps, AddsAPixelOnlyIfSet) {
  const Box left{0, 0, 10, 10}, right{10, 0, 20, 10};
  EXPECT_FALSE(overlap_by(left, right, 0.04f, contract("exact")));
  EXPECT_TRUE(overlap_by(left, right, 0.04f, contract("plus-one")));
}

TEST(Overlaps, HandlesBoxesWithoutArea) {
  const Box point{5, 5, 5, 5};
  EXPECT_FALSE(overlap_by(point, point, 0.0f, contract("exact")));
  EXPECT_TRUE(overlap_by(point, point, 0.5f, contract("opencv")));
  const Box upright{10, 2, 10, 9}, level{40, 3, 90, 3};
  EXPECT_TRUE(overlap_by(upright, level, 0.5f, contract("opencv")));
}

TEST(Overlaps, ReordersCornersOnlyIfSet) {
  const Box straight{0, 0, 10, 10}, inverted{10, 0, 0, 10};
  EXPECT_FALSE(overlap_by(straight, inverted, 0.5f, contract("exact")));
  EXPECT_TRUE(overlap_by(straight, inverted, 0.5f, contract("onnx")));
}

TEST(Overlaps, IsSymmetric) {
  const Box a{0.1f, 0.7f, 5.3f, 9.1f}, b{1.3f, 0.2f, 6.7f, 8.8f};
  for (float t = 0; t < 1; t += 0.001f)
    EXPECT_EQ(overlap_by(a, b, t, contract("exact")), overlap_by(b, a, t, contract("exact"))) << t;
}

TEST(Overlaps, SurvivesHugeBoxes) {
  const float most = std::numeric_limits<float>::max();
  const Box huge{-most, -most, most, most};
  EXPECT_FALSE(overlap_by(huge, huge, 0.5f, contract("exact")));  // inf / inf is NaN
}

TEST(Passes, NanNeverPasses) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(passes(nan, 0, contract("exact")));
  EXPECT_FALSE(passes(nan, 0, contract("inclusive")));
  EXPECT_FALSE(passes(0.25f, 0.25f, contract("exact")));
  EXPECT_TRUE(passes(0.25f, 0.25f, contract("inclusive")));
}

TEST(Overlaps, ClassOffsetSeparatesClasses) {
  const Rules rules{.contract = contract("ultralytics"), .iou_threshold = 0.45f};
  const Candidate wide{order_key(0.9f, 0, 1), {0, 0, 10, 10}};
  const Candidate far{order_key(0.8f, 1, 0), {7680, 7680, 7690, 7690}};
  EXPECT_TRUE(overlap<Upright>(rules, wide, far));
  EXPECT_FALSE(overlap<Upright>(rules, wide, {order_key(0.8f, 1, 0), wide.box}));
  // A float offset for class 2047 has a resolution of whole pixels: IoU 0.38 becomes 1.
  const Candidate small{order_key(0.9f, 0, 2047), {10, 10, 11.4f, 11.4f}};
  const Candidate beside{order_key(0.8f, 1, 2047), {10.4f, 10.4f, 11, 11}};
  EXPECT_TRUE(overlap<Upright>(rules, small, beside));
  EXPECT_FALSE(
      overlap<Upright>({.contract = contract("exact"), .iou_threshold = 0.45f}, small, beside));
}

TEST(Overlaps, DistanceIsAFractionOfTheDiagonal) {
  const NmsContract& exact = contract("exact");
  const Box a{0, 0, 10, 10}, b{5, 0, 15, 10};
  EXPECT_FLOAT_EQ(Upright::distance(a, b), 25.0f / (15 * 15 + 10 * 10));
  const Rules rules{.contract = exact, .iou_threshold = 0.3f};  // IoU is a third
  EXPECT_TRUE(hits<Upright>(rules, a, 100, b, 100));
  EXPECT_FALSE(hits_by_diou<Upright>(rules, a, 100, b, 100));
  const Box point{3, 3, 3, 3};
  EXPECT_FALSE(hits_by_diou<Upright>(rules, point, 0, point, 0));
}

TEST(OrderKey, PutsTheLastAnchorFirstIfSet) {
  for (const char* name : {"exact", "faster-rcnn"}) {
    const NmsContract& by = contract(name);
    const uint64_t first = order_key(0.5f, anchor_in_key(by, 3), 0);
    const uint64_t last = order_key(0.5f, anchor_in_key(by, 9), 0);
    EXPECT_EQ(first < last, !by.later_first);
    EXPECT_EQ(anchor_in_key(by, key_anchor(last)), 9u);
  }
}

TEST(Contracts, AreFoundByName) {
  for (const NmsContract& each : contracts()) {
    EXPECT_EQ(find_contract(each.name), &each);
    EXPECT_FALSE(each.summary.empty());
  }
  EXPECT_EQ(find_contract("no such"), nullptr);
}

}  // namespace
}  // namespace keepbox
