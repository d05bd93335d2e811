// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints of boxes in metas: written, read, and passed through scalers, crops and flips.
#include <cstring>

#include "gst/metas/records.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::attach;
using test::boxes;
using test::Buffer;
using test::Harness;
using test::plain_box;
using test::with_points;

const std::vector<Keypoint> kFivePoints = {
    {110.25f, 120.5f, 0.9f}, {150, 121, 0.8f}, {130, 140, 0.7f}, {115, 160, 0.1f}, {-7.5f, 700, 0}};
const std::vector<Keypoint> kBody = {{1, 2, 1}, {3, 4, 1}, {5, 6, 1}, {7, 8, 0.5f}};

const PointSet& set(const char* name) { return *find_point_set(name); }

std::vector<FrameBox> people() {
  return {with_points({100, 110, 160, 170}, kFivePoints, set("face-landmarks/5")),
          plain_box({10, 10, 60, 60}),
          with_points({20, 20, 90, 90}, kFivePoints, set("face-landmarks/5")),
          with_points({30, 20, 90, 90}, kBody, set("body-pose/alignment-4"))};
}

std::vector<Keypoint> points_of(const FrameBox& box) {
  return {box.keypoints.points.begin(), box.keypoints.points.end()};
}

TEST(Points, AreReadAsTheyWereAttached) {
  const Buffer frame = test::empty_frame();
  auto list = people();
  attach(frame.get(), list, {.classes = true});
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(points_of(found[0]), kFivePoints);
  EXPECT_TRUE(found[1].keypoints.points.empty());
  EXPECT_EQ(points_of(found[2]), kFivePoints);
  EXPECT_EQ(points_of(found[3]), kBody);
  EXPECT_STREQ(g_quark_to_string(found[2].keypoints.name), "face-landmarks/5");
  EXPECT_STREQ(g_quark_to_string(found[3].keypoints.name), "body-pose/alignment-4");
  ASSERT_EQ(found[0].keypoints.edges.size(), set("face-landmarks/5").edges.size());
  EXPECT_EQ(found[0].keypoints.edges[5].from, 3);
  EXPECT_EQ(found[0].keypoints.edges[5].to, 4);
  EXPECT_EQ(found[3].keypoints.edges.size(), 2u);
}

TEST(Points, OfManyBoxesFit) {
  const Buffer frame = test::empty_frame();
  const PointSet& body = set("body-pose/coco-17");
  const std::vector<Keypoint> seventeen(17, {7, 8, 1});
  std::vector<FrameBox> list(100, with_points({20, 20, 90, 90}, seventeen, body));
  attach(frame.get(), list, {});
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 100u);
  for (const FrameBox& box : found) EXPECT_EQ(points_of(box), seventeen);
}

TEST(Points, KeepTheNameOfTheirSet) {
  const Buffer frame = test::empty_frame();
  PointSet ours = set("body-pose/alignment-4"), others = ours;
  ours.name = "ours";
  others.name = "others";
  std::vector<FrameBox> list = {with_points({20, 20, 90, 90}, kBody, ours),
                                with_points({30, 20, 90, 90}, kBody, others)};
  attach(frame.get(), list, {.classes = true});
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_STREQ(g_quark_to_string(found[0].keypoints.name), "ours");
  EXPECT_STREQ(g_quark_to_string(found[1].keypoints.name), "others");
}

/// Returns the first of people() on a frame of 640 x 640 after a line.
FrameBox through(const std::string& line, Buffer& out) {
  Harness h("identity ! " + line + " ! identity",
            "video/x-raw,format=RGB,width=640,height=640,framerate=30/1,pixel-aspect-ratio=1/1");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr);
  auto list = people();
  attach(frame, list, {.frame = {640, 640}});
  out = h.run(frame);
  EXPECT_TRUE(out) << h.error();
  return out ? boxes(out).at(0) : FrameBox{};
}

TEST(Points, AreScaledWithTheVideo) {
  Buffer out;
  const FrameBox box =
      through("videoscale add-borders=false ! video/x-raw,width=320,height=160", out);
  const auto points = points_of(box);
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[0], (Keypoint{55.125f, 30.125f, 0.9f}));
  EXPECT_EQ(points[4], (Keypoint{-3.75f, 175, 0})) << "not clipped";
}

TEST(Points, FollowCropsAndFlipsIfDetectionsDo) {
  if (matrix_quark() == 0) GTEST_SKIP() << "GStreamer's detections do from 1.28 on";
  Buffer out;
  const auto cropped = points_of(through("videocrop left=50 top=30", out));
  ASSERT_EQ(cropped.size(), 5u);
  EXPECT_EQ(cropped[0], (Keypoint{60.25f, 90.5f, 0.9f}));
  const FrameBox oriented = through("videoflip method=horizontal-flip", out);
  const auto flipped = points_of(oriented);
  ASSERT_EQ(flipped.size(), 5u);
  EXPECT_FLOAT_EQ(oriented.box.x2, 640 - people()[0].box.x1);
  EXPECT_FLOAT_EQ(flipped[0].x, 640 - 110.25f);
  EXPECT_FLOAT_EQ(flipped[0].y, 120.5f);
}

TEST(Points, FollowAMatrix) {
  const Buffer frame = test::empty_frame();
  auto list = people();
  attach(frame.get(), std::span(list).first(1));
  test::move_pixels(frame, "keepbox-points", PixelMap({0, -1, 640, 1, 0, 0, 0, 0, 1}));
  const auto points =
      Records(gst_buffer_get_analytics_relation_meta(frame.get())).keypoints(0).points;
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[0], (Keypoint{640 - 120.5f, 110.25f, 0.9f}));
  EXPECT_EQ(points[4], (Keypoint{-60, -7.5f, 0})) << "not clipped";
}

TEST(Points, RequireAnAgreeingRecord) {
  const Buffer frame = test::empty_frame();
  auto list = people();
  list.resize(1);
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(meta, list[0].label, 100, 110, 60, 60, 0.75f, &od);
  list[0].od_id = od.id;
  list[0].box = {100, 110, 160, 170};
  list[0].score = 0.5f;
  add_records(meta, list);
  EXPECT_EQ(Records(meta).keypoints(od.id).points.size(), 5u);
  EXPECT_TRUE(boxes(frame).at(0).keypoints.points.empty()) << "another score: another box";
}

TEST(Points, OfALaterVersionAreRead) {
  struct Later {
    guint32 header_size = 40, record_size = 20, count = 1;
    GQuark name = g_quark_from_string("later");
    guint32 points = 1, edges = 1, edges_at = 32;
    guint32 more = 7;
    guint8 edge[4] = {0, 0, 0, 0};
    guint32 still_more = 8;
    guint od_id = 0;
    Keypoint point{1.5f, 2.5f, 0.25f};
    guint32 and_more = 9;
  } later;
  static_assert(sizeof later == 60);
  static const GstAnalyticsMtdImpl impl = {"keepbox-points", nullptr, nullptr, {}};
  const auto read = [&](gsize bytes) -> std::vector<Keypoint> {
    const Buffer frame = test::empty_frame();
    FrameBox box = plain_box({1, 2, 30, 40});
    attach(frame.get(), std::span(&box, 1));
    auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
    GstAnalyticsMtd mtd;
    std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &impl, bytes, &mtd), &later, bytes);
    const FrameBox found = boxes(frame).at(0);
    EXPECT_EQ(found.keypoints.edges.size(), found.keypoints.points.size() * (later.edge[1] == 0));
    return points_of(found);
  };
  EXPECT_EQ(read(sizeof later), (std::vector<Keypoint>{{1.5f, 2.5f, 0.25f}}));
  EXPECT_TRUE(read(56).empty()) << "shorter than it says";
  EXPECT_TRUE(read(12).empty());
  later.points = 2;
  EXPECT_TRUE(read(sizeof later).empty()) << "more points than a record has";
  later.points = 1;
  later.edges = 5;
  EXPECT_TRUE(read(sizeof later).empty()) << "edges beyond the header";
  later.edges = 1;
  later.edge[1] = 1;
  EXPECT_EQ(read(sizeof later).size(), 1u) << "without the edge to a point that is not there";
}

}  // namespace
}  // namespace keepbox
