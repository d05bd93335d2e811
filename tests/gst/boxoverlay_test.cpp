// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay as an element: whose boxes it draws, what it leaves alone, changes while it runs.
#include <gst/analytics/analytics.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace keepbox {
namespace {

constexpr guint8 kBackground = 7;

std::vector<guint8> bytes(GstBuffer* buffer) {
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
  /// A frame with a box as any decoder leaves it.
  GstBuffer* boxed(int x = 10, int y = 20, int width = 30, int height = 20, float angle = 0) const {
    GstBuffer* buffer = frame();
    auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, g_quark_from_string("person"), x, y,
                                                    width, height, angle, 0.87f, nullptr);
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

class OverlayFormats : public BoxOverlay, public testing::WithParamInterface<const char*> {};

TEST_P(OverlayFormats, DrawsBoxesOfAnyDecoder) {
  for (const auto& [width, height] : {std::pair{64, 48}, {33, 47}}) {
    format(GetParam(), width, height);
    g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, boxed());
    ASSERT_NE(out, nullptr);
    const auto pixels = bytes(out);
    EXPECT_EQ(pixels.size(), info_.size);
    EXPECT_NE(pixels, blank());
    auto* meta = gst_buffer_get_analytics_relation_meta(out);
    ASSERT_NE(meta, nullptr) << "the boxes are still wanted downstream";
    EXPECT_EQ(gst_analytics_relation_get_length(meta), 1u);
    EXPECT_EQ(drawn(frame()), blank()) << "boxes of the frame before";
  }
}

INSTANTIATE_TEST_SUITE_P(BoxOverlay, OverlayFormats,
                         testing::Values("RGB", "BGR", "RGBA", "BGRA", "ARGB", "ABGR", "RGBx",
                                         "BGRx", "xRGB", "xBGR", "GRAY8", "I420", "YV12", "NV12",
                                         "NV21", "Y42B", "Y444"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(BoxOverlay, OutlineHasTheColourOfItsClass) {
  set("draw-labels", FALSE);
  set("draw-scores", FALSE);
  const auto pixels = drawn(boxed());
  const guint8* corner = &pixels[20 * info_.stride[0] + 10 * 3];
  EXPECT_EQ(std::vector<guint8>(corner, corner + 3), (std::vector<guint8>{0xff, 0x3c, 0x3c}));
  EXPECT_EQ(pixels[19 * info_.stride[0] + 10 * 3], kBackground);
  EXPECT_EQ(pixels[22 * info_.stride[0] + 13 * 3], kBackground);
}

TEST_F(BoxOverlay, FramesWithoutBoxesPassAsTheyAre) {
  GstBuffer* empty = frame();
  gst_buffer_add_analytics_relation_meta(empty);
  for (GstBuffer* buffer : {frame(), empty}) {
    // Someone else holds it too: it cannot be written to, and need not be.
    gst_buffer_ref(buffer);
    g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, buffer);
    EXPECT_EQ(out, buffer);
    EXPECT_EQ(bytes(out), blank());
    gst_buffer_unref(buffer);
  }
}

TEST_F(BoxOverlay, FramesThatOthersHoldAreNotWrittenTo) {
  g_autoptr(GstBuffer) shared = boxed();
  g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, gst_buffer_ref(shared));
  EXPECT_EQ(bytes(shared), blank());
  EXPECT_NE(bytes(out), blank());
  EXPECT_NE(gst_buffer_get_analytics_relation_meta(out), nullptr);
}

TEST_F(BoxOverlay, DrawsInPlace) {
  GstBuffer* buffer = boxed();
  g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, buffer);
  EXPECT_EQ(out, buffer);
}

TEST_F(BoxOverlay, CaptionsFollowProperties) {
  format("RGB", 320, 240);
  const auto all = drawn(boxed(10, 100, 200, 100));
  set("draw-scores", FALSE);
  const auto label = drawn(boxed(10, 100, 200, 100));
  set("draw-labels", FALSE);
  const auto outline = drawn(boxed(10, 100, 200, 100));
  set("thickness", 9u);
  const auto thick = drawn(boxed(10, 100, 200, 100));
  const auto count = [](const std::vector<guint8>& pixels) {
    return pixels.size() - static_cast<size_t>(std::ranges::count(pixels, kBackground));
  };
  EXPECT_GT(count(all), count(label));
  EXPECT_GT(count(label), count(outline));
  EXPECT_GT(count(thick), 4 * count(outline));
  set("draw-labels", TRUE);
  set("font-scale", 2.0);
  EXPECT_GT(count(drawn(boxed(10, 100, 200, 100))), 2 * count(label));
}

TEST_F(BoxOverlay, TrackingIds) {
  format("RGB", 320, 240);
  const auto tracked = [&](guint64 id) {
    GstBuffer* buffer = boxed(10, 100, 200, 100);
    auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
    GstAnalyticsTrackingMtd track;
    gst_analytics_relation_meta_add_tracking_mtd(meta, id, 0, &track);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, 0, track.id);
    return buffer;
  };
  const auto without = drawn(boxed(10, 100, 200, 100));
  const auto one = drawn(tracked(1));
  EXPECT_NE(one, without);
  EXPECT_NE(drawn(tracked(G_MAXUINT64)), one);
  set("draw-tracking-ids", FALSE);
  EXPECT_EQ(drawn(tracked(1)), without);
}

TEST_F(BoxOverlay, RotatedBoxes) {
  EXPECT_NE(drawn(boxed(10, 20, 30, 20, 0.5f)), drawn(boxed()));
  EXPECT_NE(drawn(boxed(10, 20, 30, 20, 0.5f)), drawn(boxed(10, 20, 30, 20, -0.5f)));
}

TEST_F(BoxOverlay, AbsurdBoxesDoNoHarm) {
  for (const int at : {INT_MIN / 2, -1000000000, 0, 1000000000})
    for (const int size : {0, 1, 1000000000})
      for (const float angle : {0.0f, 0.7f}) {
        EXPECT_EQ(drawn(boxed(at, at, size, size, angle)).size(), info_.size);
        EXPECT_EQ(drawn(boxed(at, 5, size, 10, angle)).size(), info_.size);
      }
}

TEST_F(BoxOverlay, LabelsThatAreNotAscii) {
  for (const char* label :
       {"Velo f\xc3\xbcr zwei", "\xe4\xba\xba", "\xff\xfe broken", "a\nb", ""}) {
    GstBuffer* buffer = frame();
    auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), 5, 20, 30, 20, 0.5f,
                                           nullptr);
    gst_analytics_relation_meta_add_od_mtd(meta, 0, 30, 20, 30, 20, -0.5f, nullptr);
    EXPECT_NE(drawn(buffer), blank());
  }
}

TEST_F(BoxOverlay, AnyStrides) {
  format("NV12", 33, 21);
  gsize offset[GST_VIDEO_MAX_PLANES] = {5, 5 + 21 * 51};
  gint stride[GST_VIDEO_MAX_PLANES] = {51, 43};
  const gsize size = offset[1] + 11 * 43;
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
  gst_buffer_memset(buffer, 0, kBackground, size);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 33, 21,
                                 2, offset, stride);
  auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("person"), -5, -5, 90, 90, 0.5f,
                                         nullptr);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("car"), 20, 10, 13, 11, 0.5f,
                                         nullptr);
  const auto pixels = drawn(buffer);
  ASSERT_EQ(pixels.size(), size);
  for (gsize i = 0; i < size; ++i) {
    const bool chroma = i >= offset[1];
    const bool padding = chroma ? (i - offset[1]) % 43 >= 34 : i < 5 || (i - 5) % 51 >= 33;
    if (padding) {
      EXPECT_EQ(pixels[i], kBackground) << "padding at " << i;
    }
  }
  EXPECT_NE(pixels[5 + 20 * 51 + 32], kBackground);
}

TEST_F(BoxOverlay, OtherFormatsAndSizesOnTheWay) {
  for (const auto& [name, width, height] :
       {std::tuple{"RGB", 64, 48}, {"NV12", 160, 120}, {"I420", 33, 21}, {"BGRx", 1, 1},
        {"GRAY8", 640, 480}}) {
    format(name, width, height);
    EXPECT_NE(drawn(boxed(0, 0, 20, 20)), blank()) << name;
    EXPECT_EQ(drawn(frame()), blank()) << name;
  }
}

TEST_F(BoxOverlay, StopsAndStartsAgain) {
  const auto first = drawn(boxed());
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(gst_element_set_state(harness_->element, GST_STATE_NULL), GST_STATE_CHANGE_FAILURE);
    gst_harness_play(harness_);
    format("RGB", 64, 48);
    EXPECT_EQ(drawn(boxed()), first);
    EXPECT_EQ(drawn(frame()), blank());
  }
}

TEST_F(BoxOverlay, PropertiesChangeWhileStreaming) {
  std::atomic<bool> done = false;
  std::thread changes([&] {
    for (guint i = 0; !done; ++i) {
      set("draw-labels", i % 2 == 0 ? TRUE : FALSE);
      set("draw-scores", i % 3 == 0 ? TRUE : FALSE);
      set("thickness", i % 7);
      set("font-scale", i % 5 * 0.5);
    }
  });
  for (int i = 0; i < 300; ++i) EXPECT_NE(drawn(boxed()), blank());
  done = true;
  changes.join();
}

TEST_F(BoxOverlay, PropertiesKeepTheirValues) {
  gboolean labels = FALSE, scores = FALSE, ids = FALSE;
  guint thickness = 1;
  gdouble scale = 1;
  const auto get = [&] {
    g_object_get(harness_->element, "draw-labels", &labels, "draw-scores", &scores,
                 "draw-tracking-ids", &ids, "thickness", &thickness, "font-scale", &scale, nullptr);
  };
  get();
  EXPECT_TRUE(labels && scores && ids);
  EXPECT_EQ(thickness, 0u);
  EXPECT_EQ(scale, 0);
  set("draw-labels", FALSE);
  set("draw-scores", FALSE);
  set("draw-tracking-ids", FALSE);
  set("thickness", 3u);
  set("font-scale", 0.75);
  get();
  EXPECT_FALSE(labels || scores || ids);
  EXPECT_EQ(thickness, 3u);
  EXPECT_EQ(scale, 0.75);
}

}  // namespace
}  // namespace keepbox
