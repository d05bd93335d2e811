// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that tensorinfer holds back keep their order, their times and their place among events.
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;
using test::raw;
using test::tensor_of;

class InferLookahead : public test::Inference {
 protected:
  static constexpr GstClockTime kFrame = GST_SECOND / 30;

  void SetUp() override {
    Inference::SetUp();
    if (IsSkipped()) return;
    h_.emplace(infer(test::identity_model({"n", 3, 48, 64})) + more_, caps_);
  }

  /// Pushes a frame of one grey value.
  GstFlowReturn push(int number, bool discont = false) {
    const auto value = static_cast<uint8_t>(number);
    GstBuffer* buffer =
        painted(caps_, [&](int, int) -> test::Pixel { return {value, value, value}; });
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * kFrame;
    GST_BUFFER_DURATION(buffer) = kFrame;
    if (discont) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    return gst_harness_push(h_->get(), buffer);
  }
  Buffer pull() { return Buffer(gst_harness_try_pull(h_->get())); }

  /// Checks that the next frame is that number, with its own tensor.
  void expect_next(int number) {
    const Buffer out = pull();
    ASSERT_TRUE(out) << "frame " << number << h_->error();
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(number) * kFrame);
    EXPECT_FLOAT_EQ(tensor_of(out).values[100] * 255, static_cast<float>(number));
  }

  std::string more_ = "lookahead=3 batch-size=4";
  const std::string caps_ = raw("RGB", 64, 48);
  std::optional<Harness> h_;
};

TEST_F(InferLookahead, HoldsFramesBackInOrder) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(push(i), GST_FLOW_OK);
  EXPECT_FALSE(pull());
  EXPECT_EQ(push(3), GST_FLOW_OK);
  expect_next(0);
  EXPECT_FALSE(pull());
  for (int i = 4; i < 20; ++i) {
    push(i);
    expect_next(i - 3);
  }
}

TEST_F(InferLookahead, SendsThemOnBeforeEvents) {
  for (int i = 0; i < 3; ++i) push(i);
  gst_harness_push_event(h_->get(), gst_event_new_eos());
  for (int i = 0; i < 3; ++i) expect_next(i);
  EXPECT_FALSE(pull());
}

/// A drain query comes from upstream before it changes its pool.
TEST_F(InferLookahead, SendsThemOnBeforeADrain) {
  for (int i = 0; i < 3; ++i) push(i);
  g_autoptr(GstQuery) query = gst_query_new_drain();
  gst_pad_peer_query(h_->get()->srcpad, query);
  for (int i = 0; i < 3; ++i) expect_next(i);
}

TEST_F(InferLookahead, SendsThemOnBeforeANewSegment) {
  h_->set("interval", 2u);
  push(0);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h_->get(), gst_event_new_segment(&segment));
  expect_next(0);
  for (int i = 1; i < 5; ++i) push(i);
  expect_next(1);
}

TEST_F(InferLookahead, SendsThemOnBeforeADiscontinuity) {
  for (int i = 0; i < 3; ++i) push(i, i == 0);
  EXPECT_FALSE(pull()) << "only frames before a discontinuity do not wait";
  push(3, true);
  for (int i = 0; i < 3; ++i) {
    const Buffer out = pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_IS_DISCONT(out.get()), i == 0) << i;
  }
  EXPECT_FALSE(pull());
  for (int i = 4; i < 7; ++i) push(i);
  const Buffer out = pull();
  ASSERT_TRUE(out);
  EXPECT_TRUE(GST_BUFFER_IS_DISCONT(out.get()));
}

TEST_F(InferLookahead, SendsThemOnBeforeNewCaps) {
  push(1);
  push(2);
  h_->set_caps(raw("RGB", 128, 96));
  const std::string wide = raw("RGB", 128, 96);
  gst_harness_push(h_->get(), painted(wide, test::grey));
  expect_next(1);
  expect_next(2);
}

TEST_F(InferLookahead, AFlushDropsThem) {
  for (int i = 0; i < 3; ++i) push(i);
  gst_harness_push_event(h_->get(), gst_event_new_flush_start());
  gst_harness_push_event(h_->get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h_->get(), gst_event_new_segment(&segment));
  EXPECT_FALSE(pull());
  for (int i = 7; i < 11; ++i) EXPECT_EQ(push(i), GST_FLOW_OK);
  expect_next(7);
}

TEST_F(InferLookahead, KeepsSkippedFramesInOrder) {
  h_->set("interval", 2u);
  h_->set("hold", TRUE);
  for (int i = 0; i < 8; ++i) push(i);
  for (int i = 0; i < 5; ++i) {
    const Buffer out = pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * kFrame);
    EXPECT_FLOAT_EQ(tensor_of(out).values[100] * 255, static_cast<float>(i / 2 * 2)) << i;
  }
}

TEST_F(InferLookahead, IsInTheLatency) {
  push(0);
  gst_harness_set_upstream_latency(h_->get(), 5 * GST_MSECOND);
  EXPECT_EQ(gst_harness_query_latency(h_->get()), 5 * GST_MSECOND + 3 * GST_SECOND / 30);
}

TEST_F(InferLookahead, FillsBatches) {
  h_.reset();
  h_.emplace(infer(test::identity_model({"n", 3, 48, 64}),
                   "lookahead=3 batch-size=4 "
                   "batch-timeout=1000"),
             caps_);
  for (int i = 0; i < 16; ++i) push(i);
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(h_->element(), "stats", &stats, nullptr);
  gdouble fill = 0;
  gst_structure_get_double(stats, "batch-fill", &fill);
  EXPECT_EQ(fill, 4);
  for (int i = 0; i < 13; ++i) expect_next(i);
}

}  // namespace
}  // namespace keepbox
