// SPDX-License-Identifier: LGPL-2.1-or-later
// Records travel with their boxes: floats through scalers, crops, flips and filters.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <tuple>

#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;
using test::has_matrix;
using test::ods;

const std::vector<test::Row> kOneBox = {{100, 160, 300, 320, 0.9f, 5}};

/// Returns a decoded frame of 640 x 640 after a line.
Buffer through(const std::string& line, const std::vector<test::Row>& list = kOneBox) {
  Harness h("boxdecode ! " + line + " ! identity",
            "video/x-raw,format=RGB,width=640,height=640,framerate=30/1,"
            "pixel-aspect-ratio=1/1");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr);
  test::attach(frame, test::rows(list));
  Buffer out = h.run(frame);
  EXPECT_TRUE(out) << h.error();
  return out;
}

/// Checks that each detection has floats that match its integers.
void expect_agreement(const Buffer& frame) {
  const auto found = boxes(frame);
  const auto whole = ods(frame);
  ASSERT_EQ(found.size(), whole.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i].class_id) << "no record for detection " << i;
    EXPECT_NEAR(found[i].box.x1, whole[i].x, 2);
    EXPECT_NEAR(found[i].box.y1, whole[i].y, 2);
    EXPECT_NEAR(found[i].box.x2, whole[i].x + whole[i].w, 3);
    EXPECT_NEAR(found[i].box.y2, whole[i].y + whole[i].h, 3);
  }
}

TEST(Records, AreScaledWithTheVideo) {
  const Buffer out = through("videoscale add-borders=false ! video/x-raw,width=320,height=160",
                             {{301, 99, 333, 131, 0.9f, 2}});
  expect_agreement(out);
  EXPECT_FLOAT_EQ(boxes(out).at(0).box.x1, 150.5f);
  EXPECT_FLOAT_EQ(boxes(out).at(0).box.y1, 24.75f);
}

TEST(Records, GoThroughALetterbox) {
  const Buffer out =
      through("videoconvertscale ! video/x-raw,width=1280,height=720,pixel-aspect-ratio=1/1");
  expect_agreement(out);
  if (has_matrix()) {
    EXPECT_FLOAT_EQ(boxes(out).at(0).box.x1, 280 + 112.5f);
    EXPECT_FLOAT_EQ(boxes(out).at(0).box.y2, 360);
  }
}

TEST(Records, GoThroughScalersInTurn) {
  expect_agreement(
      through("videoconvertscale ! video/x-raw,width=161,height=97 ! videoconvertscale "
              "! video/x-raw,width=1920,height=1080 ! videoconvertscale "
              "! video/x-raw,width=50,height=50"));
}

/// A scaler truncates both position and size of a detection to integers.
TEST(Records, GoWithDetectionsWithRoundedFarEdges) {
  std::vector<test::Row> list;
  for (int i = 0; i < 100; ++i) {
    const auto at = [](int place, float part) { return 60.0f * static_cast<float>(place) + part; };
    const float more = static_cast<float>(i) * 0.083f;
    list.push_back({at(i % 10, 10 + more), at(i / 10, 15 - more), at(i % 10, 51 - 2 * more),
                    at(i / 10, 43 + more), 0.9f, 5});
  }
  expect_agreement(
      through("videoscale add-borders=false ! video/x-raw,width=240,height=270", list));
}

TEST(Records, FollowCropsAndFlipsIfDetectionsDo) {
  if (!has_matrix()) GTEST_SKIP() << "GStreamer's detections do from 1.28 on";
  for (const char* line : {"videocrop left=50 top=30", "videocrop left=150 top=200 right=400",
                           "videoflip method=clockwise", "videoflip method=horizontal-flip",
                           "videoflip method=rotate-180 ! videocrop right=7",
                           "videoflip method=upper-left-diagonal"}) {
    SCOPED_TRACE(line);
    const Buffer out = through(line);
    ASSERT_EQ(ods(out).size(), 1u);
    expect_agreement(out);
    EXPECT_EQ(boxes(out).at(0).class_id, 5u);
  }
}

/// Rebuilds the relation meta, like elements that filter detections, which cannot be removed.
void replace(GstBuffer* buffer, const std::function<void(GstAnalyticsRelationMeta*)>& fill) {
  auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
  gst_buffer_remove_meta(buffer, reinterpret_cast<GstMeta*>(meta));
  fill(gst_buffer_add_analytics_relation_meta(buffer));
}

TEST(Records, GoWithTheDetectionsThatTheyDescribe) {
  const Buffer frame = through("identity");
  replace(frame.get(), [](GstAnalyticsRelationMeta* meta) {
    GstAnalyticsODMtd od;
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("other"), 200, 210, 20, 30,
                                           0.7f, &od);
  });
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{200, 210, 220, 240}));
  EXPECT_FALSE(found[0].class_id);
  EXPECT_STREQ(g_quark_to_string(found[0].label), "other");
}

TEST(Records, ApplyOnlyIfTheyAgree) {
  const FrameBox right{.box = {10.4f, 20.25f, 30, 40},
                       .score = 0.5f,
                       .label = g_quark_from_string("a"),
                       .class_id = 5,
                       .anchor = 1};
  const auto agrees = [](const FrameBox& box) {
    GstBuffer* buffer = gst_buffer_new();
    auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
    GstAnalyticsODMtd od;
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("a"), 10, 20, 20, 20, 0.5f,
                                           &od);
    add_records(meta, {&box, 1});
    const bool out = boxes(Buffer(buffer)).at(0).class_id.has_value();
    return out;
  };
  EXPECT_TRUE(agrees(right));
  for (float Box::* edge : {&Box::x1, &Box::y1, &Box::x2, &Box::y2})
    for (const float by : {-3.0f, 3.0f}) {
      FrameBox moved = right;
      moved.box.*edge += by;
      EXPECT_FALSE(agrees(moved));
    }
  FrameBox renamed = right, rescored = right, oriented = right, of_another = right;
  renamed.label = g_quark_from_string("b");
  rescored.score = 0.6f;
  oriented.angle = 1;
  of_another.od_id = 7;
  for (const FrameBox& wrong : {renamed, rescored, oriented, of_another})
    EXPECT_FALSE(agrees(wrong));
}

TEST(Records, OfALaterVersionAreRead) {
  struct Later {
    guint32 header_size = 32, record_size = 48, count = 1;
    GQuark model = g_quark_from_string("m");
    gfloat tolerance = 1;
    guint32 more[3] = {1, 2, 3};
    BoxRecord record{.od_id = 0,
                     .class_id = 5,
                     .anchor = 9,
                     .label = g_quark_from_string("a"),
                     .score = 0.5f,
                     .x1 = 1.5f,
                     .y1 = 2,
                     .x2 = 3,
                     .y2 = 4};
    guint32 and_more[2] = {4, 5};
  } later;
  static_assert(sizeof later == 80);
  static const GstAnalyticsMtdImpl impl = {"keepbox-boxes", nullptr, nullptr, {}};
  const auto read = [&](gsize bytes) {
    const Buffer frame(gst_buffer_new());
    auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
    GstAnalyticsODMtd od;
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("a"), 2, 2, 1, 2, 0.5f, &od);
    GstAnalyticsMtd mtd;
    std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &impl, bytes, &mtd), &later, bytes);
    return boxes(frame).at(0);
  };
  EXPECT_EQ(read(sizeof later).class_id, 5u);
  EXPECT_EQ(read(sizeof later).box.x1, 1.5f);
  EXPECT_EQ(read(sizeof later).model, g_quark_from_string("m"));
  EXPECT_FALSE(read(60).class_id) << "shorter than it says";
  EXPECT_FALSE(read(4).class_id);
  later.record_size = 8;
  EXPECT_FALSE(read(sizeof later).class_id) << "less than a record";
}

TEST(Records, OfAnEarlierVersionAreRead) {
  struct Earlier {
    guint32 header_size = 24, record_size = sizeof(BoxRecord), count = 1;
    GQuark model = g_quark_from_string("m");
    gfloat tolerance = 1;
    guint32 unnamed = 1;
    BoxRecord record{.od_id = 0,
                     .class_id = 5,
                     .anchor = 9,
                     .label = g_quark_from_string("a"),
                     .score = 0.5f,
                     .x1 = 1.5f,
                     .y1 = 2,
                     .x2 = 3,
                     .y2 = 4};
  } earlier;
  static_assert(sizeof earlier == 24 + sizeof(BoxRecord));
  static const GstAnalyticsMtdImpl impl = {"keepbox-boxes", nullptr, nullptr, {}};
  const Buffer frame(gst_buffer_new());
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("a"), 2, 2, 1, 2, 0.5f, &od);
  GstAnalyticsMtd mtd;
  std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &impl, sizeof earlier, &mtd), &earlier,
              sizeof earlier);
  const FrameBox box = boxes(frame).at(0);
  EXPECT_EQ(box.class_id, 5u);
  EXPECT_EQ(box.box.x1, 1.5f);
  EXPECT_EQ(box.model, g_quark_from_string("m"));
  EXPECT_TRUE(box.unnamed);
  EXPECT_FALSE(box.held);
}

TEST(Pixels, AreLimitedForAnyBox) {
  using Limits = std::numeric_limits<float>;
  constexpr int kFar = 1 << 24;
  for (const float v :
       {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 3e9f, -3e9f, -2147483648.0f})
    for (const Size frame : {Size{640, 480}, Size{}})
      for (const Box& box : {Box{v, v, v, v}, Box{0, 0, v, v}, Box{v, v, 0, 0}}) {
        const Pixels at = rounded(box, frame);
        for (const int place : {at.x, at.y}) EXPECT_TRUE(place >= -kFar && place <= kFar) << v;
        for (const int side : {at.width, at.height}) EXPECT_TRUE(side > 0 && side <= 2 * kFar) << v;
      }
}

TEST(Pixels, StayInTheFrame) {
  const auto at = [](const Box& box, Size frame) {
    const Pixels out = rounded(box, frame);
    return std::tuple(out.x, out.y, out.width, out.height);
  };
  const Box corner{192, 108, 192, 108}, thin{191.6f, 20.2f, 191.9f, 20.4f};
  EXPECT_EQ(at(corner, {192, 108}), std::tuple(191, 107, 1, 1));
  EXPECT_EQ(at(corner, {}), std::tuple(192, 108, 1, 1));
  EXPECT_EQ(at(thin, {192, 108}), std::tuple(191, 20, 1, 1));
}

}  // namespace
}  // namespace keepbox
