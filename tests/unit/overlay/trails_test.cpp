// SPDX-License-Identifier: LGPL-2.1-or-later
// Trails: which points they keep, and how they are drawn.
#include "gst/overlay/colors.h"

#include <cmath>

#include "tests/unit/overlay/frame.h"

namespace keepbox {
namespace {

FrameBox tracked(guint64 id, float x) {
  FrameBox box{.box = {x - 5, 10, x + 5, 30}};
  box.tracking_id = id;
  return box;
}

void add(Trails& trails, guint second, std::vector<FrameBox> boxes, guint length = 3) {
  trails.add(boxes, second * GST_SECOND, length * GST_SECOND);
}

std::vector<float> xs(const Trails& trails, guint64 id) {
  std::vector<float> out;
  for (const TrailPoint& point : trails.of(tracked(id, 0))) out.push_back(point.x);
  return out;
}

using Xs = std::vector<float>;

TEST(Trails, AreTheCentresOfTheLastSeconds) {
  Trails trails;
  for (guint i = 0; i < 10; ++i)
    add(trails, i, {tracked(1, static_cast<float>(i)), tracked(2, 50)});
  EXPECT_EQ(xs(trails, 1), (Xs{6, 7, 8, 9}));
  EXPECT_EQ(trails.of(tracked(1, 0))[0].y, 20);
  EXPECT_EQ(xs(trails, 2), Xs(4, 50));
  EXPECT_TRUE(xs(trails, 3).empty());
  EXPECT_TRUE(trails.of(FrameBox{}).empty());
}

TEST(Trails, AreOfOneModelsObject) {
  Trails trails;
  FrameBox other = tracked(1, 40);
  other.model = g_quark_from_string("trails-test");
  add(trails, 0, {tracked(1, 5), other});
  other.box = tracked(1, 41).box;
  add(trails, 1, {tracked(1, 6), other});
  EXPECT_EQ(xs(trails, 1), (Xs{5, 6}));
  const auto points = trails.of(other);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].x, 40);
  EXPECT_EQ(points[1].x, 41);
}

TEST(Trails, EndWithTheirObject) {
  Trails trails;
  add(trails, 0, {tracked(1, 0)});
  add(trails, 3, {});
  EXPECT_EQ(xs(trails, 1).size(), 1u);
  add(trails, 4, {});
  EXPECT_TRUE(xs(trails, 1).empty());
}

TEST(Trails, ForgetWhatIsLaterAfterASeek) {
  Trails trails;
  for (guint i = 4; i < 7; ++i) add(trails, i, {tracked(1, static_cast<float>(i))});
  add(trails, 5, {tracked(1, 9)});
  EXPECT_EQ(xs(trails, 1), (Xs{4, 9}));
}

TEST(Trails, KeepNothingWithoutTimesOrPlaces) {
  Trails trails;
  const std::vector<FrameBox> boxes{tracked(1, 5)};
  trails.add(boxes, GST_CLOCK_TIME_NONE, GST_SECOND);
  EXPECT_TRUE(xs(trails, 1).empty());
  add(trails, 1, {tracked(1, std::nanf(""))});
  EXPECT_TRUE(xs(trails, 1).empty());
}

TEST(Trails, AreBounded) {
  Trails trails;
  for (guint i = 0; i < Trails::kMaxPoints + 10; ++i)
    trails.add(std::vector{tracked(1, 1)}, i, GST_SECOND);
  EXPECT_EQ(xs(trails, 1).size(), Trails::kMaxPoints);
  std::vector<FrameBox> many;
  for (guint64 id = 0; id < Trails::kMaxTrails + 10; ++id) many.push_back(tracked(id, 1));
  trails.add(many, 5000, GST_SECOND);
  EXPECT_EQ(xs(trails, Trails::kMaxTrails - 2).size(), 1u);
  EXPECT_TRUE(xs(trails, Trails::kMaxTrails + 5).empty());
}

TEST(Trails, AreDrawnAsLines) {
  test::Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
  Mark mark = test::box(40, 30, 60, 44);
  mark.trail = {{5, 10}, {25, 10}, {25, 38}, {50, 38}};
  test::paint(frame, mark, {.thickness = 2});
  for (const auto& [x, y] : {std::pair{10, 10}, {24, 20}, {30, 38}})
    EXPECT_EQ(frame.at(0, x, y), 255) << x << ' ' << y;
  EXPECT_EQ(frame.at(0, 10, 20), test::kBackground);
  mark.trail = {{5, 10}};
  test::Frame other(GST_VIDEO_FORMAT_RGB, 64, 48);
  test::paint(other, mark, {.thickness = 2});
  EXPECT_EQ(other.at(0, 5, 10), test::kBackground);
}

}  // namespace
}  // namespace keepbox
