// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay as an element: boxes of all decoders, unchanged frames, changes while running.
#include <gst/analytics/analytics.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gst/metas/attachboxes.h"
#include "gst/overlay/colors.h"
#include "tests/masks.h"

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
  GstMessage* told = gst_bus_pop_filtered(
      bus, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  EXPECT_EQ(told, nullptr);
  gst_clear_message(&told);
  gst_element_set_bus(harness_->element, nullptr);
  gst_object_unref(bus);
  g_autoptr(GstBuffer) out = gst_harness_try_pull(harness_);
  EXPECT_NE(out, nullptr);
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

/// Boxes next to each other on frames of 64x48, and the colours of their outlines.
class OverlayColors : public BoxOverlay {
 protected:
  OverlayColors() {
    set("draw-labels", FALSE);
    set("draw-scores", FALSE);
    set("draw-tracking-ids", FALSE);
  }
  static FrameBox at(float x, const char* label, std::optional<uint32_t> number = {}) {
    return {.box = {x, 20, x + 8, 40},
            .score = 0.5f,
            .label = g_quark_from_string(label),
            .class_id = number,
            .anchor = 0};
  }
  static Rgb pixel(const std::vector<guint8>& pixels, int x) {
    const guint8* p = &pixels[20 * 64 * 3 + x * 3];
    return {p[0], p[1], p[2]};
  }
};

TEST_F(OverlayColors, OutlineHasTheColourOfItsClass) {
  const auto pixels = drawn(boxed());
  EXPECT_EQ(pixel(pixels, 10), palette()[number_of("person") % palette().size()])
      << "by its name, where there is no number";
  EXPECT_EQ(pixels[19 * info_.stride[0] + 10 * 3], kBackground);
  EXPECT_EQ(pixels[22 * info_.stride[0] + 13 * 3], kBackground);
}

TEST_F(OverlayColors, ClassNumbersChooseColours) {
  const std::array boxes{at(2, "triangle", 2), at(14, "cross", 4), at(26, "ring", 5)};
  const auto pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[2]);
  EXPECT_EQ(pixel(pixels, 14), palette()[4]);
  EXPECT_EQ(pixel(pixels, 26), palette()[5]);
}

TEST_F(OverlayColors, OneColourForAll) {
  set("color", 0xff123456u);
  const std::array boxes{at(2, "triangle", 2), at(14, "cross", 4)};
  for (const char* by : {"class", "tracking-id", "model"}) {
    gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", by);
    const auto pixels = drawn(decoded(boxes));
    EXPECT_EQ(pixel(pixels, 2), (Rgb{0x12, 0x34, 0x56}));
    EXPECT_EQ(pixel(pixels, 14), (Rgb{0x12, 0x34, 0x56}));
  }
  set("color", 0u);
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "class");
  EXPECT_EQ(pixel(drawn(decoded(boxes)), 2), palette()[2]);
}

TEST_F(OverlayColors, ByTrackingIdAndByModel) {
  std::array boxes{at(2, "triangle", 2), at(14, "triangle", 2), at(26, "triangle", 2)};
  boxes[0].tracking_id = 6;
  boxes[1].tracking_id = 7;
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "tracking-id");
  auto pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[6]);
  EXPECT_EQ(pixel(pixels, 14), palette()[7]);
  EXPECT_EQ(pixel(pixels, 26), kUntracked);
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "model");
  pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[0]);
  EXPECT_EQ(pixel(pixels, 14), palette()[0]);
}

TEST_F(OverlayColors, OneClassNumberOfTwoModelsHasTwoColours) {
  std::array boxes{at(2, "person", 1), at(14, "face", 1)};
  boxes[0].model = g_quark_from_string("people");
  boxes[1].model = g_quark_from_string("faces");
  const auto pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[1]);
  EXPECT_NE(pixel(pixels, 14), palette()[1]);
}

TEST_F(OverlayColors, BetterBoxesAreOnTopInAnyOrder) {
  std::array boxes{at(2, "star", 3), at(2, "ring", 5), at(2, "cross", 4)};
  boxes[0].score = std::numeric_limits<float>::quiet_NaN();
  boxes[1].score = 0.9f;
  EXPECT_EQ(pixel(drawn(decoded(boxes)), 2), palette()[5]);
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

TEST_F(BoxOverlay, LabelsDoNotCoverEachOther) {
  format("RGB", 320, 240);
  const auto box = [](float at, float score, uint32_t number) {
    return FrameBox{.box = {at, at, at + 160, at + 80},
                    .score = score,
                    .label = g_quark_from_string("star"),
                    .class_id = number,
                    .anchor = 0};
  };
  /// Counts pixels in the colour of the worse of two boxes.
  const auto shown = [&](std::span<const FrameBox> boxes) {
    const auto pixels = drawn(decoded(boxes));
    const Rgb color = palette()[3];
    int count = 0;
    for (size_t i = 0; i + 2 < pixels.size(); i += 3)
      count += Rgb{pixels[i], pixels[i + 1], pixels[i + 2]} == color;
    return count;
  };
  const std::array both{box(57, 0.8f, 3), box(60, 0.9f, 4)};
  const int alone = shown({both.data(), 1});
  EXPECT_GT(shown(both), alone - 200) << "its label is covered or missing";
  gst_util_set_object_arg(G_OBJECT(harness_->element), "label-placement", "above");
  EXPECT_LT(shown(both), alone - 300);
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

TEST_F(BoxOverlay, MasksAndKeypointsCanBeDisabled) {
  const test::TestMask mask({"##", "##"});
  const Keypoint points[] = {{40, 10, 0.9f}, {60, 40, 0.9f}, {52, 10, 0.3f}};
  const Edge edges[] = {{0, 1}};
  std::array boxes{FrameBox{.box = {2, 2, 62, 46}, .score = 0.5f, .class_id = 0, .anchor = 0}};
  boxes[0].mask = mask.over({6, 10, 26, 40});
  boxes[0].points = {.points = points, .edges = edges};
  for (const char* property : {"draw-labels", "draw-scores"}) set(property, FALSE);
  const auto changed = [&](int x, int y) {
    return drawn(decoded(boxes))[static_cast<size_t>(y * info_.stride[0] + x * 3)] != kBackground;
  };
  EXPECT_TRUE(changed(16, 25)) << "the mask";
  EXPECT_TRUE(changed(50, 25)) << "the line";
  EXPECT_TRUE(changed(2, 25)) << "the outline";
  EXPECT_FALSE(changed(52, 10)) << "a point that is not sure";
  set("keypoint-threshold", 0.25f);
  EXPECT_TRUE(changed(52, 10));
  set("draw-masks", FALSE);
  EXPECT_FALSE(changed(16, 25));
  EXPECT_TRUE(changed(50, 25));
  set("draw-keypoints", FALSE);
  EXPECT_FALSE(changed(50, 25));
  EXPECT_TRUE(changed(2, 25));
  set("draw-boxes", FALSE);
  EXPECT_EQ(drawn(decoded(boxes)), blank());
}

TEST_F(BoxOverlay, MasksAndKeypointsOfSharedFrames) {
  const test::TestMask mask({"#"});
  const Keypoint points[] = {{40, 10, 0.9f}};
  std::array boxes{FrameBox{.box = {2, 2, 62, 46}, .score = 0.5f, .class_id = 0, .anchor = 0}};
  boxes[0].mask = mask.over({6, 10, 26, 40});
  boxes[0].points = {.points = points};
  const auto alone = drawn(decoded(boxes));
  GstBuffer* shared = decoded(boxes);
  gst_buffer_ref(shared);
  EXPECT_EQ(drawn(shared), alone);
  EXPECT_EQ(bytes(shared), blank());
  gst_buffer_unref(shared);
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
