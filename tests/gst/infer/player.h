// SPDX-License-Identifier: LGPL-2.1-or-later
// Pipelines with tensorinfer, played to the end or stopped.
#pragma once

#include <algorithm>
#include <cstring>

#include "tests/gst/infer/infer.h"

namespace keepbox::test {

/// Returns the time that an action takes, in microseconds.
gint64 microseconds(auto act) {
  const gint64 start = g_get_monotonic_time();
  act();
  return g_get_monotonic_time() - start;
}

/// Returns the shortest of several measurements, which a busy machine can only make longer, at the
/// first one below the limit.
gint64 shortest(gint64 limit, auto measure) {
  constexpr int kTries = 5;
  gint64 out = measure();
  for (int i = 1; i < kTries && out >= limit; ++i) out = std::min(out, measure());
  return out;
}

/// A pipeline, and the output of its sinks.
class Player {
 public:
  explicit Player(const std::string& text) {
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(text.c_str(), &error);
    EXPECT_EQ(error, nullptr) << error->message;
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;
  ~Player() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }

  GstElement* pipeline() { return pipeline_; }
  GstElement* get(const char* name) { return gst_bin_get_by_name(GST_BIN(pipeline_), name); }

  /// Waits until the state is reached; false if it is not.
  bool to(GstState state) {
    return gst_element_set_state(pipeline_, state) != GST_STATE_CHANGE_FAILURE && settled();
  }
  bool settled() {
    return gst_element_get_state(pipeline_, nullptr, nullptr, 20 * GST_SECOND) ==
           GST_STATE_CHANGE_SUCCESS;
  }
  /// Waits for the end. @return the error's text, or "".
  std::string end() {
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline_);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    if (message == nullptr) return "no end in 20 s";
    std::string text;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      g_autoptr(GError) error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      text = error->message;
    }
    gst_message_unref(message);
    return text;
  }

  /// Returns the errors so far.
  std::string errors() {
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline_);
    std::string text;
    while (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)) {
      g_autoptr(GError) error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      text += error->message;
      gst_message_unref(message);
    }
    return text;
  }

  /// Returns the last frame of a sink since its start.
  Buffer last(const char* sink) {
    g_autoptr(GstElement) element = get(sink);
    g_autoptr(GstSample) sample = nullptr;
    g_object_get(element, "last-sample", &sample, nullptr);
    EXPECT_NE(sample, nullptr) << sink;
    return Buffer(sample != nullptr ? gst_buffer_ref(gst_sample_get_buffer(sample))
                                    : gst_buffer_new());
  }
  guint64 count(const char* sink) {
    g_autoptr(GstElement) element = get(sink);
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(element, "stats", &stats, nullptr);
    guint64 rendered = 0;
    gst_structure_get_uint64(stats, "rendered", &rendered);
    return rendered;
  }

 private:
  GstElement* pipeline_;
};

inline const std::string kRedSrc =
    "videotestsrc pattern=red ! video/x-raw,format=RGB,width=64,height=48 ! ";

inline constexpr Rect kAll{0, 0, 64, 48};

class InferLifecycle : public Inference {};

}  // namespace keepbox::test
