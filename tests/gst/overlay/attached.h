// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay whose downstream draws compositions or not, and the compositions of frames.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <string>

#include "tests/gst/frames.h"
#include "tests/gst/overlay/boxoverlay.h"

namespace keepbox::test {

inline constexpr const char* kAccepts =
    "video/x-raw(memory:SystemMemory,meta:GstVideoOverlayComposition)";
inline constexpr const char* kAcceptsGl =
    "video/x-raw(memory:GLMemory,meta:GstVideoOverlayComposition)";
inline constexpr int kAttachedWidth = 320, kAttachedHeight = 240;

inline GstVideoOverlayComposition* composition_of(GstBuffer* buffer) {
  const auto* meta = gst_buffer_get_video_overlay_composition_meta(buffer);
  return meta != nullptr ? meta->overlay : nullptr;
}

inline guint rectangles_of(GstBuffer* buffer) {
  auto* composition = composition_of(buffer);
  return composition != nullptr ? gst_video_overlay_composition_n_rectangles(composition) : 0;
}

/// An overlay between caps of the test, whose sink does or does not draw compositions.
class AttachedOverlay : public BoxOverlay {
 protected:
  AttachedOverlay() : bus_(gst_bus_new()) {
    gst_element_set_bus(harness_->element, bus_);
    format("BGRA", kAttachedWidth, kAttachedHeight);
  }
  ~AttachedOverlay() override {
    gst_element_set_bus(harness_->element, nullptr);
    gst_object_unref(bus_);
  }

  void accept(const char* caps) { gst_harness_set_sink_caps_str(harness_, caps); }
  void offer(GstStructure* params) {
    gst_harness_add_propose_allocation_meta(harness_, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                                            params);
    if (params != nullptr) gst_structure_free(params);
  }
  void send_gl(const char* format = "RGBA") {
    this->format(format, kAttachedWidth, kAttachedHeight);
    GstCaps* caps = gst_video_info_to_caps(&info_);
    gst_caps_set_features_simple(caps, gst_caps_features_new("memory:GLMemory", nullptr));
    gst_harness_set_src_caps(harness_, caps);
  }

  Buffer run(GstBuffer* buffer) {
    flow_ = gst_harness_push(harness_, buffer);
    return Buffer(gst_harness_try_pull(harness_));
  }
  std::string error() {
    GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR);
    if (message == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    gst_message_unref(message);
    return error->message;
  }
  /// Returns the caps that the element accepts.
  std::string accepted() {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(harness_->element, "sink");
    g_autoptr(GstCaps) caps = gst_pad_query_caps(pad, nullptr);
    g_autofree gchar* text = gst_caps_to_string(caps);
    return text;
  }

  GstBus* bus_;
  GstFlowReturn flow_ = GST_FLOW_OK;
};

}  // namespace keepbox::test
