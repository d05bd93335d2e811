// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that take seconds to load, and pipelines that do not wait for them.
#include <algorithm>
#include <memory>
#include <thread>

#include "tests/gst/infer/infer.h"
#include "tests/gst/infer/player.h"

namespace keepbox {
namespace {

using test::identity_model;
using test::InferLifecycle;
using test::kRedSrc;
using test::microseconds;
using test::Player;
using test::tensor_of;

class InferLoading : public InferLifecycle {
 protected:
  void SetUp() override {
    InferLifecycle::SetUp();
    if (IsSkipped()) return;
    slow_ = kRedSrc + infer(test::slow_to_load_model(60), "name=infer provider=cpu") +
            " ! fakesink name=out";
    Player whole(slow_);
    whole_us_ = microseconds([&] { ASSERT_TRUE(whole.to(GST_STATE_PAUSED)); });
  }

  /// Starts to load the model, and returns during that. @return the time of the start
  gint64 begin(Player& line) const {
    const gint64 out = microseconds([&] { start(line); });
    g_usleep(static_cast<gulong>(whole_us_ / 5));
    return out;
  }
  static void start(Player& line) {
    EXPECT_EQ(gst_element_set_state(line.pipeline(), GST_STATE_PAUSED), GST_STATE_CHANGE_ASYNC);
  }
  void expect_soon(auto measure) const {
    EXPECT_LT(test::shortest(whole_us_ / 3, measure), whole_us_ / 3) << "of " << whole_us_;
  }

  std::string slow_;
  gint64 whole_us_ = 0;  // of loading and one frame
};

/// The element is gone before its model is loaded.
TEST_F(InferLoading, IsNotWaitedForByAStop) {
  for (const GstState state : {GST_STATE_NULL, GST_STATE_READY}) {
    expect_soon([&] {
      auto line = std::make_unique<Player>(slow_);
      const gint64 begun = begin(*line);
      const gint64 stopped = microseconds([&] { EXPECT_TRUE(line->to(state)); });
      EXPECT_EQ(line->errors(), "");
      return std::max({begun, stopped, microseconds([&] { line.reset(); })});
    });
  }
  Player again(slow_);
  EXPECT_TRUE(again.to(GST_STATE_PAUSED)) << "after the loads that were left";
}

TEST_F(InferLoading, IsNotWaitedForByANewModel) {
  const std::string other = file(identity_model({1, 3, 16, 24}), "other.onnx");
  expect_soon([&] {
    Player line(slow_);
    begin(line);
    const gint64 replaced = microseconds([&] {
      EXPECT_TRUE(line.to(GST_STATE_READY));
      g_autoptr(GstElement) element = line.get("infer");
      g_object_set(element, "model-file", other.c_str(), nullptr);
      EXPECT_TRUE(line.to(GST_STATE_PAUSED));
    });
    EXPECT_EQ(tensor_of(line.last("out")).dims, (std::vector<size_t>{1, 3, 16, 24}));
    EXPECT_EQ(line.errors(), "");
    return replaced;
  });
}

/// Returns error and class names in the message about a load, for an element without frames.
std::string end_of_load(const std::string& file) {
  GstElement* element = gst_element_factory_make("tensorinfer", nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  // an error of a GPU is none if the CPU follows
  g_object_set(element, "model-file", file.c_str(), "provider", "cpu", nullptr);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  std::string out = "no message in 20 s";
  GstMessage* message = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND, GST_MESSAGE_ELEMENT);
  if (message != nullptr) {
    EXPECT_TRUE(gst_message_has_name(message, "tensorinfer-model"));
    const GstStructure* about = gst_message_get_structure(message);
    EXPECT_STREQ(gst_structure_get_string(about, "file"), file.c_str());
    out = gst_structure_get_string(about, "error");
    out += gst_structure_get_string(about, "labels");
    gst_message_unref(message);
  }
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(element);
  gst_object_unref(bus);
  return out;
}

TEST_F(InferLifecycle, ReportsTheEndOfALoadWithoutAFrame) {
  EXPECT_EQ(end_of_load(file(identity_model({1, 3, 16, 24}))), "");
  EXPECT_EQ(end_of_load(file(test::ultralytics_like({96, 96}))), "disc\nbar\n");
  test::expect_words(end_of_load(dir_.write("rubbish.onnx", "rubbish")), {"not ONNX"});
}

/// A seek flushes the frame that waits for the model; the next frame waits for the same load.
TEST_F(InferLoading, IsSharedByFramesBeforeAndAfterASeek) {
  const std::string caps = test::raw("RGB", 64, 48);
  expect_soon([&] {
    test::Harness h(infer(test::slow_to_load_model(60), "provider=cpu"), caps);
    std::thread waits([&] { h.run(test::painted(caps, test::grey)); });
    g_usleep(static_cast<gulong>(whole_us_ / 5));
    const gint64 flushed = microseconds([&] {
      gst_harness_push_event(h.get(), gst_event_new_flush_start());
      waits.join();
      gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
    });
    EXPECT_EQ(h.flow, GST_FLOW_FLUSHING);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
    const test::Buffer second = h.run(test::painted(caps, test::grey));
    EXPECT_TRUE(second) << h.error();
    EXPECT_EQ(h.count("tensorinfer-model"), 1u) << "a second load has its own message";
    EXPECT_EQ(h.error(), "");
    return flushed;
  });
}

}  // namespace
}  // namespace keepbox
