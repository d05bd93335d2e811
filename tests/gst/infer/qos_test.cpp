// SPDX-License-Identifier: LGPL-2.1-or-later
// Late frames of a live source pass tensorinfer without inference.
#include "gst/infer/stream.h"
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;
using test::raw;
using test::tensors_of;

class InferQos : public test::Inference {
 protected:
  void SetUp() override {
    Inference::SetUp();
    if (!IsSkipped()) h_.emplace(infer(test::identity_model({1, 3, 48, 64})), caps_);
  }

  /// Pushes a frame of that time, and returns the number of its tensors.
  size_t tensors_at(GstClockTime time) {
    GstBuffer* buffer = painted(caps_, test::noise);
    GST_BUFFER_PTS(buffer) = time;
    const Buffer out = h_->run(buffer);
    EXPECT_TRUE(out);
    return out ? tensors_of(out.get()).size() : 0;
  }
  void report_late(GstClockTime time, GstClockTimeDiff late) {
    gst_harness_push_upstream_event(h_->get(),
                                    gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1, late, time));
  }
  guint64 late_frames() {
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(h_->element(), "stats", &stats, nullptr);
    guint64 late = 99;
    gst_structure_get_uint64(stats, "late", &late);
    return late;
  }
  void go_live() { gst_harness_query_latency(h_->get()); }
  void flush() {
    gst_harness_push_event(h_->get(), gst_event_new_flush_start());
    gst_harness_push_event(h_->get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h_->get(), gst_event_new_segment(&segment));
  }

  const std::string caps_ = raw("RGB", 64, 48);
  std::optional<Harness> h_;
};

TEST_F(InferQos, LateFramesAreSkippedUntilTheStreamCaughtUp) {
  EXPECT_EQ(tensors_at(0), 1u);
  go_live();
  report_late(0, 50 * GST_MSECOND);
  EXPECT_EQ(tensors_at(40 * GST_MSECOND), 0u);
  EXPECT_EQ(tensors_at(80 * GST_MSECOND), 0u);
  EXPECT_EQ(tensors_at(120 * GST_MSECOND), 1u);
  EXPECT_EQ(late_frames(), 2u);
}

TEST_F(InferQos, LateFramesAreHeldIfThatIsSet) {
  h_->set("hold", TRUE);
  EXPECT_EQ(tensors_at(0), 1u);
  go_live();
  report_late(0, 50 * GST_MSECOND);
  EXPECT_EQ(tensors_at(40 * GST_MSECOND), 1u);
  EXPECT_EQ(late_frames(), 1u);
  EXPECT_EQ(test::counted(h_->element(), "held"), 1u);
}

TEST_F(InferQos, FramesThatAreEarlyAreInferred) {
  go_live();
  report_late(GST_SECOND, -GST_MSECOND * 20);
  EXPECT_EQ(tensors_at(GST_SECOND), 1u);
}

TEST_F(InferQos, FramesOfFilesAreNeverSkipped) {
  report_late(0, 50 * GST_MSECOND);
  EXPECT_EQ(tensors_at(40 * GST_MSECOND), 1u);
}

TEST_F(InferQos, CanBeOff) {
  h_->set("qos", FALSE);
  go_live();
  report_late(0, 50 * GST_MSECOND);
  EXPECT_EQ(tensors_at(40 * GST_MSECOND), 1u);
}

/// Frames that waited for the model do not make those after them late.
TEST(Lateness, IsForgivenWhileTheModelIsLoaded) {
  Lateness lateness;
  lateness.set_live(true);
  const auto take = [&](GstClockTime at, GstClockTimeDiff late) {
    GstEvent* event = gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1, late, at);
    lateness.take(event);
    gst_event_unref(event);
  };
  take(GST_SECOND, 4 * GstClockTimeDiff{GST_SECOND});
  EXPECT_TRUE(lateness.is_late(6 * GST_SECOND));
  lateness.ignore_until(5 * GST_SECOND);
  EXPECT_FALSE(lateness.is_late(6 * GST_SECOND));
  take(2 * GST_SECOND, 3 * GstClockTimeDiff{GST_SECOND});
  EXPECT_FALSE(lateness.is_late(6 * GST_SECOND));
  take(6 * GST_SECOND, GstClockTimeDiff{GST_SECOND});
  EXPECT_TRUE(lateness.is_late(7 * GST_SECOND));
}

TEST_F(InferQos, AFlushForgetsLateness) {
  go_live();
  report_late(0, GST_SECOND);
  flush();
  EXPECT_EQ(tensors_at(40 * GST_MSECOND), 1u);
}

TEST_F(InferQos, LateFramesHoldNothingFromBeforeAFlush) {
  h_->set("hold", TRUE);
  EXPECT_EQ(tensors_at(0), 1u);
  go_live();
  flush();
  report_late(0, 50 * GST_MSECOND);
  EXPECT_EQ(tensors_at(40 * GST_MSECOND), 0u);
}

}  // namespace
}  // namespace keepbox
