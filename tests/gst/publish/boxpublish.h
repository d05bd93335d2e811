// SPDX-License-Identifier: LGPL-2.1-or-later
// boxpublish under a harness, frames for it, and frames that arrived.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/check/gstharness.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "tests/gst/publish/mosquitto.h"

namespace keepbox::test {

inline constexpr const char* kCaps = "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1";

/// A frame whose memory must not be mapped, with a box.
inline GstBuffer* frame_of(guint index, std::optional<guint64> id = {}) {
  GstBuffer* buffer = gst_buffer_new();
  GST_BUFFER_PTS(buffer) = index * 40 * GST_MSECOND;
  FrameBox boxes[] = {{.box = {1.25f, 2.5f, 33.75f, 40},
                       .score = 0.89016300f,
                       .label = g_quark_from_string("person"),
                       .class_id = 0,
                       .anchor = 99}};
  attach_boxes(buffer, boxes, {.frame = {64, 48}});
  if (!id) return buffer;
  auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_tracking_mtd(meta, *id, 0, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, boxes[0].od_id,
                                           track.id);
  return buffer;
}

/// boxpublish under a harness.
class Publisher {
 public:
  explicit Publisher(const std::string& address) {
    element_ = gst_element_factory_make("boxpublish", "camera");
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
    set("address", address);
    set("max-reconnect-interval", "0.05");
  }
  ~Publisher() {
    stop();
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(element_);
    gst_object_unref(bus_);
  }

  void set(const char* property, const std::string& value) {
    gst_util_set_object_arg(G_OBJECT(element_), property, value.c_str());
  }
  void start() {
    harness_ = gst_harness_new_with_element(element_, "sink", "src");
    gst_harness_set_src_caps_str(harness_, kCaps);
  }
  bool can_start() {
    const auto change = gst_element_set_state(element_, GST_STATE_PAUSED);
    gst_element_set_state(element_, GST_STATE_NULL);
    return change != GST_STATE_CHANGE_FAILURE;
  }
  void push(guint first, guint count, std::optional<guint64> id = {}) {
    for (guint i = first; i < first + count; ++i) {
      ASSERT_EQ(gst_harness_push(harness_, frame_of(i, id)), GST_FLOW_OK);
      gst_buffer_unref(gst_harness_pull(harness_));
    }
  }
  void end() { gst_harness_push_event(harness_, gst_event_new_eos()); }
  void stop() {
    if (harness_ != nullptr) gst_harness_teardown(harness_);
    harness_ = nullptr;
    gst_element_set_state(element_, GST_STATE_NULL);
  }

  guint64 stat(const char* field) const {
    GstStructure* stats = nullptr;
    g_object_get(element_, "stats", &stats, nullptr);
    guint64 out = 0;
    gboolean flag = FALSE;
    if (gst_structure_get_boolean(stats, field, &flag)) out = flag != FALSE;
    else gst_structure_get_uint64(stats, field, &out);
    gst_structure_free(stats);
    return out;
  }
  bool connected() const { return stat("connected") != 0; }
  /// Returns the text of the next message of a type, empty if there is none; drops others.
  std::string message(GstMessageType type) const {
    // Filtered by the bus, a message with the last reference to a pad would lock it twice.
    g_autoptr(GstMessage) found = gst_bus_pop(bus_);
    while (found != nullptr && GST_MESSAGE_TYPE(found) != type) {
      gst_message_unref(found);
      found = gst_bus_pop(bus_);
    }
    if (found == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    if (type == GST_MESSAGE_ERROR) gst_message_parse_error(found, &error, nullptr);
    else gst_message_parse_warning(found, &error, nullptr);
    return error->message;
  }
  GstHarness* harness() { return harness_; }

 private:
  GstElement* element_;
  GstBus* bus_;
  GstHarness* harness_ = nullptr;
};

/// Skips tests where there is no broker.
class BoxPublish : public testing::Test {
 protected:
  void SetUp() override {
    if (!Mosquitto::is_there()) GTEST_SKIP() << "there is no mosquitto";
  }
};

inline constexpr const char* kBoxesTopic = "keepbox/camera/boxes";

/// Returns the numbers of the frames, in the order in which they arrived.
inline std::vector<int> frames_in(const Subscriber& subscriber) {
  std::vector<int> out;
  for (const std::string& text : subscriber.payloads(kBoxesTopic))
    out.push_back(nlohmann::json::parse(text)["frame"]);
  return out;
}

inline std::vector<int> numbers(int first, int end) {
  std::vector<int> out;
  for (int i = first; i < end; ++i) out.push_back(i);
  return out;
}

/// Removes numbers that arrived again: at least once is what qos=1 gives.
inline std::vector<int> without_repeats(const std::vector<int>& all) {
  std::vector<int> out;
  for (const int number : all)
    if (!std::ranges::contains(out, number)) out.push_back(number);
  return out;
}

inline bool has_arrived(const Subscriber& subscriber, int frames) {
  return eventually(
      [&] { return without_repeats(frames_in(subscriber)).size() >= static_cast<size_t>(frames); });
}

}  // namespace keepbox::test
