// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode's limits: boxes per frame, and warnings per stream.
#include <algorithm>
#include <functional>
#include <thread>

#include "gst/metas/boxes.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::frame_with;
using test::Harness;

/// Makes boxes that do not touch each other.
std::vector<test::Row> apart(int count) {
  std::vector<test::Row> out;
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i % 120 * 5), y = static_cast<float>(i / 120 * 5);
    out.push_back({x, y, x + 4, y + 4, 0.9f, 0});
  }
  return out;
}

TEST(Limits, CapBoxesPerFrameAtTheMaximumOfMetas) {
  Harness h("boxdecode");
  const auto* property = reinterpret_cast<const GParamSpecUInt*>(
      g_object_class_find_property(G_OBJECT_GET_CLASS(h.element()), "max-detections"));
  h.set("max-detections", property->maximum);
  const Buffer out = h.run(frame_with(apart(12'000)));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).size(), kMaxMtds);
}

TEST(Limits, ScoresOfSoftNms) {
  const test::TempDir dir;
  const std::vector<test::Row> same{{0, 0, 9, 9, 0.9f, 0}, {0, 0, 9, 9, 0.8f, 0}};
  for (const auto& [sigma, stay] : {std::pair{"0.5", size_t{1}}, {"2", size_t{2}}}) {
    const std::string family =
        dir.write("a.detector", std::string("[detector]\nbase=yolo26\nnms-sigma=") + sigma + "\n");
    Harness h("boxdecode nms-method=soft-gaussian detector=" + family);
    const Buffer out = h.run(frame_with(same));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(boxes(out).size(), stay) << sigma;  // e^(-1 / .5) of .8 is .11, e^(-1 / 2) is .49
  }
}

TEST(Limits, CandidatesOfAMethodAreOneWarning) {
  Harness h("boxdecode nms-method=fast score-threshold=0.2");
  std::vector<test::Row> rows(16'385, {0, 0, 9, 9, 0.9f, 0});
  for (int frame = 0; frame < 2; ++frame) {
    const Buffer out = h.run(frame_with(rows));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(boxes(out).size(), 1u);
    rows.push_back(rows[0]);
  }
  const std::string warning = h.warning();
  EXPECT_NE(warning.find("best 16384 of 16385 candidates"), std::string::npos) << warning;
  EXPECT_NE(warning.find("nms-method="), std::string::npos) << warning;
  EXPECT_EQ(h.warning(), "");
}

/// Makes a frame that long_line() would decode for seconds: 9,999 boxes apart from each other, and
/// others like the last of them.
GstBuffer* long_frame() {
  std::vector<test::Row> rows;
  for (int i = 0; i < 100'000; ++i) {
    const int place = std::min(i, 9'998);
    const auto x = static_cast<float>(6 * (place % 100)), y = static_cast<float>(6 * (place / 100));
    rows.push_back({x, y, x + 5, y + 5, 0.9f - 1e-6f * static_cast<float>(i), 0});
  }
  return frame_with(rows);
}

std::string long_line() {
  return "boxdecode backend=reference nms-method=greedy max-detections=10000";
}

/// Pushes such a frame, which another thread's action must end.
void expect_end(Harness& h, const std::function<void()>& end) {
  std::jthread ender([&] {
    g_usleep(G_USEC_PER_SEC / 2);
    end();
  });
  const gint64 started = g_get_monotonic_time();
  EXPECT_EQ(h.run(long_frame()).get(), nullptr);
  EXPECT_EQ(h.flow, GST_FLOW_FLUSHING);
  EXPECT_LT(g_get_monotonic_time() - started, 10 * G_USEC_PER_SEC);
  EXPECT_EQ(h.error(), "");
}

TEST(Limits, FlushInterruptsALongFrame) {
  Harness h(long_line());
  expect_end(h, [&] { gst_harness_push_event(h.get(), gst_event_new_flush_start()); });
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  const Buffer out = h.run(frame_with(apart(10)));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).size(), 10u);
}

TEST(Limits, StopInterruptsALongFrame) {
  Harness h(long_line());
  expect_end(h, [&] { gst_element_set_state(h.element(), GST_STATE_READY); });
}

TEST(Limits, BoxesWithClasses) {
  Harness h("boxdecode also-attach=class max-detections=6000 on-mismatch=pass");
  EXPECT_FALSE(h.run(frame_with(apart(5'001))));
  EXPECT_NE(h.error().find("max-detections="), std::string::npos);
  h.set("max-detections", 5'000u);
  const Buffer out = h.run(frame_with(apart(5'001)));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).size(), 5'000u);
}

TEST(Limits, BoxesInAdditionToExistingOnes) {
  Buffer frame(frame_with(apart(10)));
  GstAnalyticsRelationMetaInitParams params{kMaxMtds, 1 << 20};
  auto* meta = gst_buffer_add_analytics_relation_meta_full(frame.get(), &params);
  for (gsize i = 0; i < kMaxMtds - 9; ++i)
    gst_analytics_relation_meta_add_od_mtd(meta, 0, 1, 2, 3, 4, 0.5f, nullptr);
  Harness h("boxdecode");
  EXPECT_FALSE(h.run(frame.release()));
  const std::string error = h.error();
  EXPECT_NE(error.find("10 boxes in addition to 9991"), std::string::npos) << error;
}

TEST(Limits, WarningsWithChangingNumbers) {
  Harness h("boxdecode detector=yolov8 on-mismatch=warn");
  const auto push = [&](size_t anchors) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
    test::attach(frame, {std::vector<float>(anchors), {anchors}, "x"});
    EXPECT_TRUE(h.run(frame));
  };
  for (size_t anchors = 10; anchors < 15; ++anchors) {
    push(anchors);
    EXPECT_TRUE(h.run(gst_buffer_new()));
  }
  const std::string first = h.warning();
  EXPECT_NE(first, "");
  EXPECT_NE(h.warning(), "") << first << ": a frame without tensors is another kind";
  EXPECT_EQ(h.warning(), "");
  EXPECT_EQ(h.error(), "");
}

}  // namespace
}  // namespace keepbox
