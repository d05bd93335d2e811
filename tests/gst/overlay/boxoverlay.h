// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay under a harness, and frames with boxes.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "gst/metas/boxes.h"
#include "tests/masks.h"

namespace keepbox::test {

inline constexpr guint8 kBackground = 7;

inline std::vector<guint8> bytes(GstBuffer* buffer) {
  std::vector<guint8> out(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, out.data(), out.size());
  return out;
}

class BoxOverlay : public testing::Test {
 protected:
  BoxOverlay() : harness_(gst_harness_new("boxoverlay")) { format("RGB", 64, 48); }
  ~BoxOverlay() override { gst_harness_teardown(harness_); }

  void format(const char* format, int width, int height) {
    info_ = {};
    gst_video_info_set_format(&info_, gst_video_format_from_string(format), width, height);
    info_.fps_n = 30;
    gst_harness_set_src_caps(harness_, gst_video_info_to_caps(&info_));
  }
  template <class T>
  void set(const char* property, T value) {
    g_object_set(harness_->element, property, value, nullptr);
  }

  GstBuffer* frame() const {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info_.size, nullptr);
    gst_buffer_memset(buffer, 0, kBackground, info_.size);
    return buffer;
  }
  /// Makes a frame with a box like any decoder's.
  GstBuffer* boxed(int x = 10, int y = 20, int width = 30, int height = 20, float angle = 0) const {
    GstBuffer* buffer = frame();
    auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, g_quark_from_string("person"), x, y,
                                                    width, height, angle, 0.87f, nullptr);
    return buffer;
  }
  /// Makes a frame with boxes like boxdecode's.
  GstBuffer* decoded(std::span<const FrameBox> list) const {
    GstBuffer* buffer = frame();
    std::vector<FrameBox> boxes(list.begin(), list.end());
    attach_boxes(buffer, boxes, {});
    auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
    for (const FrameBox& box : boxes) {
      if (!box.tracking_id) continue;
      GstAnalyticsTrackingMtd track;
      gst_analytics_relation_meta_add_tracking_mtd(meta, *box.tracking_id, 0, &track);
      gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, box.od_id,
                                               track.id);
    }
    return buffer;
  }
  std::vector<guint8> drawn(GstBuffer* buffer) {
    g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, buffer);
    return out != nullptr ? bytes(out) : std::vector<guint8>{};
  }
  std::vector<guint8> blank() const { return std::vector<guint8>(info_.size, kBackground); }

  GstHarness* harness_;
  GstVideoInfo info_;
};

}  // namespace keepbox::test
