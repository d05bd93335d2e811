// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay as an element: formats, unchanged frames, changes while running.
#include <gst/analytics/analytics.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>

#include "gst/metas/boxes.h"
#include "tests/fonts.h"
#include "tests/gst/overlay/boxoverlay.h"
#include "tests/masks.h"

namespace keepbox {
namespace {

using test::BoxOverlay;
using test::bytes;
using test::kBackground;

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

/// Sources send such GAP buffers if they have no picture; boxes may be from an earlier frame.
TEST_F(BoxOverlay, LetsAGapWithoutMemoryPass) {
  GstBuffer* gap = gst_buffer_new();
  GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
  auto* meta = gst_buffer_add_analytics_relation_meta(gap);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("person"), 1, 2, 30, 20, 0.87f,
                                         nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(harness_->element, bus);
  EXPECT_EQ(gst_harness_push(harness_, gap), GST_FLOW_OK);
  GstMessage* message = gst_bus_pop_filtered(
      bus, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  EXPECT_EQ(message, nullptr);
  gst_clear_message(&message);
  gst_element_set_bus(harness_->element, nullptr);
  gst_object_unref(bus);
  g_autoptr(GstBuffer) out = gst_harness_try_pull(harness_);
  EXPECT_NE(out, nullptr);
}

TEST_F(BoxOverlay, ShowsResultsAboutTheFrameInItsCorner) {
  format("RGB", 160, 120);
  set("font-scale", 1.0);
  const auto labelled = [&] {
    GstBuffer* out = frame();
    GstAnalyticsClsMtd cls;
    gst_analytics_relation_meta_add_one_cls_mtd(gst_buffer_add_analytics_relation_meta(out), 0.5f,
                                                g_quark_from_string("EXIT 7"), &cls);
    return out;
  };
  const auto pixels = drawn(labelled());
  const auto at = [&](size_t x, size_t y) {
    return pixels[y * static_cast<size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info_, 0)) + 3 * x];
  };
  EXPECT_EQ(at(0, 1), 255) << "the tab";
  EXPECT_EQ(at(0, 0), kBackground) << "no outline";
  EXPECT_GT(std::ranges::count(pixels, guint8{0}), 60) << "black letters";
  EXPECT_EQ(at(159, 119), kBackground);
  EXPECT_EQ(at(2, 60), kBackground);
  set("draw-attributes", FALSE);
  EXPECT_EQ(drawn(labelled()), blank());
}

TEST_F(BoxOverlay, DrawsLettersOfEveryScript) {
  format("RGB", 320, 120);
  set("color", 0xffff0000u);
  const auto labelled = [&](const char* label) {
    GstBuffer* out = frame();
    auto* meta = gst_buffer_add_analytics_relation_meta(out);
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), 10, 60, 200, 40, 0.87f,
                                           nullptr);
    return drawn(out);
  };
  // With as many letters, they would be the same if all were one replacement.
  EXPECT_NE(labelled("Привет"), labelled("Приказ"));
  EXPECT_NE(labelled("人行道"), labelled("人行人"));
  EXPECT_NE(labelled("سيارة"), labelled("سيادة"));
  EXPECT_NE(labelled("Straße"), labelled("Strasse"));
  EXPECT_EQ(labelled("Stra\xdf"), labelled("Stra\xff")) << "bytes that are not UTF-8";
}

TEST_F(BoxOverlay, WarnsOnceIfThereIsNoFont) {
  const test::OnlyFonts none({});
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(harness_->element, bus);
  for (int i = 0; i < 3; ++i) EXPECT_NE(drawn(boxed()), blank()) << "the outline";
  const auto warning = [&] { return gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING); };
  GstMessage* message = warning();
  ASSERT_NE(message, nullptr);
  g_autoptr(GError) error = nullptr;
  gst_message_parse_warning(message, &error, nullptr);
  EXPECT_NE(std::string(error->message).find("no font"), std::string::npos) << error->message;
  gst_clear_message(&message);
  EXPECT_EQ(warning(), nullptr);
  gst_element_set_bus(harness_->element, nullptr);
  gst_object_unref(bus);
}

TEST_F(BoxOverlay, DrawsTrailsOfTrackedBoxes) {
  for (const char* property : {"draw-labels", "draw-scores", "draw-tracking-ids"})
    set(property, FALSE);
  set("color", 0xffff0000u);
  const auto run = [&](guint number, float x) {
    FrameBox box{.box = {x, 10, x + 8, 22}, .score = 0.9f, .label = g_quark_from_string("person")};
    box.tracking_id = 4;
    GstBuffer* in = decoded({&box, 1});
    GST_BUFFER_PTS(in) = number * GST_SECOND;
    return drawn(in);
  };
  const auto on_the_way = [&](const std::vector<guint8>& pixels, int x) {
    return pixels[static_cast<size_t>(16 * GST_VIDEO_INFO_PLANE_STRIDE(&info_, 0) + x * 3)];
  };
  run(0, 4);
  EXPECT_EQ(on_the_way(run(1, 44), 20), kBackground) << "none by default";
  set("draw-trails", 1.5);
  run(2, 4);
  EXPECT_GT(on_the_way(run(3, 44), 20), 128);
  EXPECT_EQ(on_the_way(run(5, 44), 20), kBackground) << "older than 1.5 s";
}

TEST_F(BoxOverlay, FramesWithoutBoxesAreUnchanged) {
  GstBuffer* empty = frame();
  gst_buffer_add_analytics_relation_meta(empty);
  for (GstBuffer* buffer : {frame(), empty}) {
    // It is shared: it cannot be written to, and need not be.
    gst_buffer_ref(buffer);
    g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, buffer);
    EXPECT_EQ(out, buffer);
    EXPECT_EQ(bytes(out), blank());
    gst_buffer_unref(buffer);
  }
}

TEST_F(BoxOverlay, SharedFramesAreNotWrittenTo) {
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

TEST_F(BoxOverlay, OddStridesOf16BitsAreAnError) {
  format("P010_10LE", 32, 16);
  gsize offset[GST_VIDEO_MAX_PLANES] = {0, 16 * 65};
  gint stride[GST_VIDEO_MAX_PLANES] = {65, 65};
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 24 * 65, nullptr);
  gst_buffer_memset(buffer, 0, kBackground, 24 * 65);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_P010_10LE, 32,
                                 16, 2, offset, stride);
  auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("car"), 2, 2, 20, 10, 0.5f,
                                         nullptr);
  EXPECT_EQ(gst_harness_push(harness_, buffer), GST_FLOW_ERROR);
}

TEST_F(BoxOverlay, FormatsAndSizesMayChange) {
  for (const auto& [name, width, height] : {std::tuple{"RGB", 64, 48},
                                            {"NV12", 160, 120},
                                            {"I420", 33, 21},
                                            {"BGRx", 1, 1},
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
      set("color-by", static_cast<gint>(i % 3));
      set("color", i % 4 == 0 ? 0xff00ff00u : 0u);
      set("label-placement", static_cast<gint>(i % 2));
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
  gint by = 1, placement = 1;
  guint color = 1;
  const auto get = [&] {
    g_object_get(harness_->element, "draw-labels", &labels, "draw-scores", &scores,
                 "draw-tracking-ids", &ids, "thickness", &thickness, "font-scale", &scale,
                 "color-by", &by, "color", &color, "label-placement", &placement, nullptr);
  };
  get();
  EXPECT_TRUE(labels && scores && ids);
  EXPECT_EQ(thickness, 0u);
  EXPECT_EQ(scale, 0);
  EXPECT_EQ(by, 0);
  EXPECT_EQ(color, 0u);
  EXPECT_EQ(placement, 0);
  set("draw-labels", FALSE);
  set("draw-scores", FALSE);
  set("draw-tracking-ids", FALSE);
  set("thickness", 3u);
  set("font-scale", 0.75);
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "model");
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color", "0xffabcdef");
  gst_util_set_object_arg(G_OBJECT(harness_->element), "label-placement", "above");
  get();
  EXPECT_FALSE(labels || scores || ids);
  EXPECT_EQ(thickness, 3u);
  EXPECT_EQ(scale, 0.75);
  EXPECT_EQ(by, 2);
  EXPECT_EQ(color, 0xffabcdefu);
  EXPECT_EQ(placement, 1);
}

}  // namespace
}  // namespace keepbox
