// SPDX-License-Identifier: LGPL-2.1-or-later
// Corners of oriented boxes.
#include "gst/sink/classes.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

FrameBox turned(float angle) { return {.box = {10, 20, 50, 40}, .angle = angle}; }

TEST(Oriented, UprightBoxesAreUnchanged) {
  EXPECT_EQ(enclosing(turned(0)), (Box{10, 20, 50, 40}));
  const auto corners = corners_of(turned(0));
  EXPECT_EQ(corners[0].x, 10);
  EXPECT_EQ(corners[1].x, 50);
  EXPECT_EQ(corners[1].y, 20);
  EXPECT_EQ(corners[3].y, 40);
}

TEST(Oriented, TurnClockwiseAboutTheCentre) {
  // 3-4-5: the cosine is 0.8, the sine 0.6.
  const auto corners = corners_of(turned(0.6435011f));
  const Corner expected[] = {{20, 10}, {52, 34}, {40, 50}, {8, 26}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(corners[i].x, expected[i].x, 1e-4);
    EXPECT_NEAR(corners[i].y, expected[i].y, 1e-4);
  }
  const Box around = enclosing(turned(0.6435011f));
  EXPECT_NEAR(around.x1, 8, 1e-4);
  EXPECT_NEAR(around.y1, 10, 1e-4);
  EXPECT_NEAR(around.x2, 52, 1e-4);
  EXPECT_NEAR(around.y2, 50, 1e-4);
}

}  // namespace
}  // namespace keepbox
