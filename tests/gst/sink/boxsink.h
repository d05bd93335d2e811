// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink under GstHarness, and frames for it.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/check/gstharness.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gst/metas/boxes.h"
#include "tests/tempdir.h"

namespace keepbox::test {

namespace fs = std::filesystem;
inline constexpr const char* kCaps = "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1";
inline constexpr const char* kCudaCaps =
    "video/x-raw(memory:CUDAMemory),format=NV12,width=64,height=48,framerate=25/1";

inline std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline size_t files_in(const test::TempDir& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
}

/// Makes a frame whose memory must not be mapped.
inline GstBuffer* frame(guint index) {
  GstBuffer* buffer = gst_buffer_new();
  GST_BUFFER_PTS(buffer) = index * 40 * GST_MSECOND;
  return buffer;
}

inline GstBuffer* with_ours(guint index) {
  GstBuffer* buffer = frame(index);
  FrameBox boxes[] = {{.box = {1.25f, 2.5f, 33.75f, 40},
                       .score = 0.89016300f,
                       .label = g_quark_from_string("person"),
                       .class_id = 0,
                       .anchor = 99}};
  attach_boxes(buffer, boxes, {.frame = {64, 48}});
  return buffer;
}

/// Makes a frame with a box of another decoder.
inline GstBuffer* with_foreign(guint index, const char* label = "dog") {
  GstBuffer* buffer = frame(index);
  auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), 4, 5, 6, 7, 0.5f,
                                         nullptr);
  return buffer;
}

class BoxSink : public testing::Test {
 protected:
  BoxSink() {
    element_ = gst_element_factory_make("boxsink", nullptr);
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
  }
  ~BoxSink() override {
    stop();
    gst_element_set_bus(element_, nullptr);  // messages on it hold the element
    gst_object_unref(element_);
    gst_object_unref(bus_);
  }

  void set(const char* property, const std::string& value) {
    gst_util_set_object_arg(G_OBJECT(element_), property, value.c_str());
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  bool can_start() {
    while (!message().empty()) {
    }  // GStreamer posts an error of its own for each failed start
    const auto change = gst_element_set_state(element_, GST_STATE_PAUSED);
    gst_element_set_state(element_, GST_STATE_NULL);
    return change != GST_STATE_CHANGE_FAILURE;
  }
  void start(const char* caps = kCaps) {
    harness_ = gst_harness_new_with_element(element_, "sink", nullptr);
    gst_harness_set_src_caps_str(harness_, caps);
  }
  GstFlowReturn push(GstBuffer* buffer) { return gst_harness_push(harness_, buffer); }
  bool end() { return gst_harness_push_event(harness_, gst_event_new_eos()); }
  void stop() {
    if (harness_ != nullptr) gst_harness_teardown(harness_);
    harness_ = nullptr;
    gst_element_set_state(element_, GST_STATE_NULL);
  }
  /// Returns the text of the first message of that type, empty if there is none.
  std::string message(GstMessageType type = GST_MESSAGE_ERROR) {
    g_autoptr(GstMessage) found = gst_bus_pop_filtered(bus_, type);
    if (found == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    if (type == GST_MESSAGE_ERROR) gst_message_parse_error(found, &error, nullptr);
    else gst_message_parse_warning(found, &error, nullptr);
    return error->message;
  }
  /// Pushes a frame with our boxes, one with another decoder's and one without, then EOS.
  void run_three() {
    start();
    EXPECT_EQ(push(with_ours(0)), GST_FLOW_OK);
    EXPECT_EQ(push(with_foreign(1)), GST_FLOW_OK);
    EXPECT_EQ(push(frame(2)), GST_FLOW_OK);
    EXPECT_TRUE(end());
    stop();
    EXPECT_EQ(message(), "");
  }

  test::TempDir folder_;
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
  GstHarness* harness_ = nullptr;
};

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace keepbox::test
