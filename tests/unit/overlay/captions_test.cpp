// SPDX-License-Identifier: LGPL-2.1-or-later
// Placement of captions: in the frame, at their boxes, and not on each other.
#include "gst/overlay/typeface.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <vector>

namespace keepbox {
namespace {

const cv::Size kScreen(640, 480);
const cv::Size kCaption(80, 16);

Outline boxed(float x, float y, float width, float height, float angle = 0) {
  return outline_of({x, y, x + width, y + height}, angle).value();
}

class CaptionPlacement : public testing::Test {
 protected:
  CaptionPlacement() { start(LabelPlacement::kApart); }
  void start(LabelPlacement placement, cv::Size frame = kScreen) {
    placer_.start(frame, 2, placement);
  }
  std::optional<cv::Rect> place(const Outline& outline, cv::Size size = kCaption) {
    return placer_.place(outline, size);
  }
  static bool meet(const cv::Rect& a, const cv::Rect& b) { return !(a & b).empty(); }

  CaptionPlacer placer_;
};

TEST_F(CaptionPlacement, PrefersTheUpperLeftCorner) {
  EXPECT_EQ(place(boxed(100, 100, 200, 90)), cv::Rect({100, 84}, kCaption));
  EXPECT_EQ(place(boxed(400, 3, 200, 90)), cv::Rect({400, 3}, kCaption))
      << "inside, at the frame's top";
  EXPECT_EQ(place(boxed(10, 3, 30, 20)), cv::Rect({10, 23}, kCaption)) << "it would fill the box";
  EXPECT_EQ(place(boxed(600, 200, 100, 90)), cv::Rect({560, 184}, kCaption)) << "in the frame";
}

TEST_F(CaptionPlacement, CaptionsOfTwoBoxesAtOnePlaceDoNotOverlap) {
  const auto first = place(boxed(100, 100, 200, 90)), second = place(boxed(104, 102, 200, 90));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first, cv::Rect({100, 84}, kCaption)) << "the better one chooses first";
  EXPECT_FALSE(meet(*first, *second));
}

TEST_F(CaptionPlacement, AvoidsOtherCaptions) {
  const auto first = place(boxed(300, 100, 200, 90));
  const auto second = place(boxed(260, 95, 90, 4));  // the first caption is above it
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(meet(*first, *second));
}

TEST_F(CaptionPlacement, DoesNotHideSmallBoxesAtTheFramesEdge) {
  const auto high = place(boxed(300, 12, 20, 14)), low = place(boxed(500, 460, 20, 10));
  EXPECT_EQ(high, cv::Rect({300, 0}, kCaption)) << "a little lower than above";
  EXPECT_EQ(low, cv::Rect({500, 444}, kCaption));
  start(LabelPlacement::kApart, {640, 26});
  EXPECT_EQ(place(boxed(300, 12, 20, 14)), cv::Rect({300, 0}, kCaption));
}

TEST_F(CaptionPlacement, IsInsideAtTheBottomIfTheTopIsTaken) {
  start(LabelPlacement::kApart, {90, 480});
  EXPECT_EQ(place(boxed(0, 0, 90, 480)), cv::Rect({0, 0}, kCaption));
  EXPECT_EQ(place(boxed(0, 0, 90, 480)), cv::Rect({5, 464}, kCaption)) << "between its sides";
}

TEST_F(CaptionPlacement, AvoidsOutlinesOfBetterBoxes) {
  place(boxed(100, 100, 200, 90));
  const Outline second = boxed(90, 108, 200, 120);  // the upper edge of the first one is above it
  const auto tab = place(second);
  ASSERT_TRUE(tab);
  for (const cv::Rect& edge : boxed(100, 100, 200, 90).edges(2)) EXPECT_FALSE(meet(*tab, edge));
}

TEST_F(CaptionPlacement, AvoidsOrientedOutlines) {
  // Its upper corner is at 300,160, its lower corner at 300,320.
  const Outline diamond = boxed(300 - 56.57f, 240 - 56.57f, 113.14f, 113.14f, 0.785398f);
  const auto own = place(diamond);
  ASSERT_TRUE(own);
  EXPECT_NEAR(own->x + kCaption.width / 2, 300, 1);
  EXPECT_NEAR(own->y + kCaption.height, 160, 1);
  const auto tab = place(boxed(230, 216, 40, 200));  // its upper left corner is on the outline
  ASSERT_TRUE(tab);
  for (int i = 0; i <= 80; ++i)  // the upper left side of the diamond
    EXPECT_FALSE(tab->contains({220 + i, 240 - i})) << i;
}

TEST_F(CaptionPlacement, CoversAnOutlineIfNecessary) {
  start(LabelPlacement::kApart, {82, 40});
  place(boxed(0, 0, 82, 40), {});
  EXPECT_TRUE(place(boxed(1, 17, 80, 6)));
}

TEST_F(CaptionPlacement, DropsCaptionsWithoutSpace) {
  std::vector<cv::Rect> tabs;
  int left_out = 0;
  for (int i = 0; i < 100; ++i) {
    const auto tab = place(boxed(300, 200, 30, 30));
    if (tab) tabs.push_back(*tab);
    else ++left_out;
  }
  EXPECT_GE(tabs.size(), 4u);
  EXPECT_GT(left_out, 80);
  for (size_t i = 0; i < tabs.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(meet(tabs[i], tabs[k]));
}

TEST_F(CaptionPlacement, AboveIsAlwaysAbove) {
  start(LabelPlacement::kAbove);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(place(boxed(100, 100, 200, 90)), cv::Rect({100, 84}, kCaption));
  EXPECT_EQ(place(boxed(100, 3, 200, 90)), cv::Rect({100, 3}, kCaption));
}

TEST_F(CaptionPlacement, EmptyCaptionsTakeNoSpace) {
  EXPECT_EQ(place(boxed(100, 100, 200, 90), {}), std::nullopt);
  EXPECT_EQ(place(boxed(100, 100, 200, 90), {80, 0}), std::nullopt);
  EXPECT_TRUE(place(boxed(100, 100, 200, 90)));
}

TEST_F(CaptionPlacement, PlacesCaptionsLargerThanTheFrame) {
  for (const cv::Size frame : {cv::Size(1, 1), {30, 200}, {200, 9}}) {
    start(LabelPlacement::kApart, frame);
    const auto tab = place(boxed(0, 0, 1, 1));
    ASSERT_TRUE(tab);
    EXPECT_EQ(*tab & cv::Rect({0, 0}, frame), *tab);
  }
}

/// Boxes of any size and angle, some partly outside of the frame.
std::vector<Outline> crowd(size_t count) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<Outline> out;
  while (out.size() < count) {
    const float w = 5 + 200 * unit(random), h = 5 + 200 * unit(random);
    const float x = 700 * unit(random) - 50 - w / 2, y = 540 * unit(random) - 50 - h / 2;
    const Outline outline = boxed(x, y, w, h, unit(random) < 0.3f ? 3 * unit(random) : 0);
    if (!(outline.extent & cv::Rect({0, 0}, kScreen)).empty()) out.push_back(outline);
  }
  return out;
}

TEST_F(CaptionPlacement, CrowdsStayReadable) {
  std::vector<cv::Rect> tabs;
  for (const Outline& outline : crowd(300)) {
    const auto tab = place(outline);
    if (!tab) continue;
    EXPECT_EQ(*tab & cv::Rect({0, 0}, kScreen), *tab) << "outside the frame";
    const cv::Rect around(outline.extent.tl() - cv::Point(kCaption),
                          outline.extent.br() + cv::Point(kCaption));
    EXPECT_TRUE(meet(*tab, around)) << "away from its box";
    for (const cv::Rect& other : tabs) EXPECT_FALSE(meet(*tab, other));
    tabs.push_back(*tab);
  }
  EXPECT_GT(tabs.size(), 100u);
  // Equal boxes have equal placements.
  start(LabelPlacement::kApart);
  size_t i = 0;
  for (const Outline& outline : crowd(300))
    if (const auto tab = place(outline)) {
      EXPECT_EQ(*tab, tabs[i++]);
    }
}

TEST_F(CaptionPlacement, ThousandsOfBoxesAreFast) {
  const auto outlines = crowd(10000);
  const auto started = std::chrono::steady_clock::now();
  for (const Outline& outline : outlines) place(outline);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
}

}  // namespace
}  // namespace keepbox
