// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay attaches boxes for downstream to draw.
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/gst/frames.h"
#include "tests/gst/overlay/boxoverlay.h"
#include "tests/masks.h"

namespace keepbox {
namespace {

using test::bytes;
using test::kBackground;

constexpr const char* kAccepts = "video/x-raw(memory:SystemMemory,meta:GstVideoOverlayComposition)";
constexpr const char* kAcceptsGl = "video/x-raw(memory:GLMemory,meta:GstVideoOverlayComposition)";
constexpr int kAttachedWidth = 320, kAttachedHeight = 240;

GstVideoOverlayComposition* composition_of(GstBuffer* buffer) {
  const auto* meta = gst_buffer_get_video_overlay_composition_meta(buffer);
  return meta != nullptr ? meta->overlay : nullptr;
}

guint rectangles_of(GstBuffer* buffer) {
  auto* composition = composition_of(buffer);
  return composition != nullptr ? gst_video_overlay_composition_n_rectangles(composition) : 0;
}

struct Place {
  gint x = 0, y = 0;
  guint width = 0, height = 0;
};
Place place_of(GstBuffer* buffer, guint i) {
  Place p;
  gst_video_overlay_rectangle_get_render_rectangle(
      gst_video_overlay_composition_get_rectangle(composition_of(buffer), i), &p.x, &p.y, &p.width,
      &p.height);
  return p;
}

/// An overlay between caps of the test, whose sink does or does not draw compositions.
class AttachedOverlay : public test::BoxOverlay {
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

  /// Returns boxes, upright and oriented, some beyond the edges, with a mask and keypoints.
  std::vector<FrameBox> many() {
    std::vector<FrameBox> list;
    for (int i = 0; i < 12; ++i) {
      const auto x = static_cast<float>(i * 67 % kAttachedWidth - 9);
      const auto y = static_cast<float>(i * 53 % kAttachedHeight - 6);
      FrameBox box{.box = {x, y, x + 51, y + 43}, .score = 0.9f - 0.02f * static_cast<float>(i)};
      box.label = g_quark_from_static_string(i % 2 == 0 ? "person" : "car");
      box.class_id = static_cast<uint32_t>(i % 2);
      box.anchor = static_cast<uint32_t>(i);
      if (i % 4 == 3) box.angle = 0.4f;
      list.push_back(box);
    }
    list[0].mask = mask_.over({30, 40, 120, 130});
    list[1].keypoints = {points_, edges_, 0};
    return list;
  }

  test::Buffer run(GstBuffer* buffer) {
    flow_ = gst_harness_push(harness_, buffer);
    return test::Buffer(gst_harness_try_pull(harness_));
  }
  std::string error() {
    GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR);
    if (message == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    gst_message_unref(message);
    return error->message;
  }
  /// Blends what is attached, as a sink does.
  std::vector<guint8> blended(GstBuffer* buffer) {
    const test::Buffer copy(gst_buffer_copy_deep(buffer));
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &info_, copy.get(), GST_MAP_READWRITE)) return {};
    EXPECT_TRUE(gst_video_overlay_composition_blend(composition_of(buffer), &frame));
    gst_video_frame_unmap(&frame);
    return bytes(copy.get());
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
  test::TestMask mask_{{".##.", "####", "####", ".##."}};
  std::vector<Keypoint> points_{{150, 60, 1}, {190, 90, 1}, {160, 120, 1}};
  std::vector<Edge> edges_{{0, 1}, {1, 2}};
};

int largest_difference(std::span<const guint8> a, std::span<const guint8> b) {
  int out = a.size() == b.size() ? 0 : 256;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    out = std::max(out, std::abs(a[i] - b[i]));
  return out;
}

TEST_F(AttachedOverlay, BlendsToTheDrawnFrame) {
  for (const char* name : {"RGB", "BGR", "NV12"}) {
    format(name, kAttachedWidth, kAttachedHeight);
    // GStreamer blends with this matrix, whatever the caps have.
    if (!GST_VIDEO_INFO_IS_RGB(&info_)) {
      gst_video_colorimetry_from_string(&info_.colorimetry, GST_VIDEO_COLORIMETRY_BT709);
      gst_harness_set_src_caps(harness_, gst_video_info_to_caps(&info_));
    }
    // Subsampled colours are blended at other positions.
    const size_t compared =
        name == std::string("NV12") ? GST_VIDEO_INFO_PLANE_OFFSET(&info_, 1) : info_.size;
    set("render", 1);
    accept("video/x-raw");
    const auto boxes = many();
    const std::vector<guint8> wanted = drawn(decoded(boxes));
    set("render", 2);
    accept(kAccepts);
    const test::Buffer out = run(decoded(boxes));
    ASSERT_TRUE(out) << name << error();
    EXPECT_EQ(bytes(out.get()), blank()) << "the frame itself is unchanged";
    ASSERT_GT(rectangles_of(out.get()), 0u);
    const std::vector<guint8> found = blended(out.get());
    EXPECT_NE(found, blank());
    EXPECT_LE(
        largest_difference(std::span(found).first(compared), std::span(wanted).first(compared)), 2)
        << name;
  }
}

TEST_F(AttachedOverlay, CoversOnlyWhatIsDrawn) {
  set("render", 2);
  accept(kAccepts);
  const test::Buffer out = run(boxed(200, 150, 30, 20));
  ASSERT_TRUE(out);
  size_t area = 0;
  std::vector<guint8> covered(size_t{kAttachedWidth} * kAttachedHeight);
  for (guint i = 0; i < rectangles_of(out.get()); ++i) {
    const Place p = place_of(out.get(), i);
    area += size_t{p.width} * p.height;
    for (guint y = 0; y < p.height; ++y)
      for (guint x = 0; x < p.width; ++x)
        EXPECT_EQ(covered[(p.y + y) * size_t{kAttachedWidth} + p.x + x]++, 0) << "no pixel twice";
  }
  EXPECT_LT(area, size_t{kAttachedWidth} * kAttachedHeight / 3);
  // Boxes of one frame are not drawn on the next.
  const test::Buffer next = run(boxed(10, 10, 30, 20));
  EXPECT_EQ(blended(next.get())[(160 * size_t{kAttachedWidth} + 200) * 4], kBackground);
  EXPECT_EQ(rectangles_of(run(frame()).get()), 0u) << "nothing for a frame without boxes";
}

TEST_F(AttachedOverlay, ReachesMemoryThatCannotBeDrawnOn) {
  accept(kAcceptsGl);
  send_gl();
  const test::Buffer out = run(boxed());
  ASSERT_TRUE(out) << error();
  EXPECT_EQ(bytes(out.get()), blank());
  EXPECT_GT(rectangles_of(out.get()), 0u);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(harness_->sinkpad);
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  EXPECT_TRUE(gst_caps_features_contains(features, "memory:GLMemory"));
  EXPECT_TRUE(gst_caps_features_contains(features, "meta:GstVideoOverlayComposition"));
}

TEST_F(AttachedOverlay, ReachesFormatsThatCannotBeDrawnOn) {
  accept(kAccepts);
  format("YUY2", kAttachedWidth, kAttachedHeight);
  EXPECT_GT(rectangles_of(run(boxed()).get()), 0u);
}

TEST_F(AttachedOverlay, AutoDrawsOnTheFrame) {
  const std::string both = "video/x-raw;" + std::string(kAccepts);
  for (const char* caps : {"video/x-raw", both.c_str(), "video/x-raw(ANY)"}) {
    accept(caps);
    const test::Buffer out = run(boxed());
    ASSERT_TRUE(out) << caps;
    EXPECT_NE(bytes(out.get()), blank()) << caps;
    EXPECT_EQ(rectangles_of(out.get()), 0u) << caps;
  }
}

/// Elements that accept anything, such as converters, would not draw attached boxes.
TEST_F(AttachedOverlay, AutoAcceptsOnlyWhatWillBeSeen) {
  for (const char* caps : {"video/x-raw,format={YUY2,NV12}", "video/x-raw(ANY)", "ANY"}) {
    accept(caps);
    EXPECT_EQ(accepted().find("YUY2"), std::string::npos) << accepted();
    EXPECT_NE(accepted().find("NV12"), std::string::npos) << accepted();
    EXPECT_EQ(accepted().find("ANY"), std::string::npos) << accepted();
  }
  accept(kAcceptsGl);
  EXPECT_NE(accepted().find("GLMemory"), std::string::npos) << accepted();
  set("blur", "person");
  EXPECT_EQ(accepted().find("GLMemory)"), std::string::npos) << "what is blurred is drawn";
}

TEST_F(AttachedOverlay, ReportsASinkThatDoesNotDraw) {
  set("render", 2);
  for (const char* caps : {"video/x-raw", "ANY"}) {
    accept(caps);
    EXPECT_FALSE(run(boxed())) << caps;
    EXPECT_EQ(flow_, GST_FLOW_ERROR);
    EXPECT_EQ(error(),
              "Boxes cannot be attached: downstream does not accept overlay compositions "
              "(meta:GstVideoOverlayComposition). Draw on the frame with render=auto or "
              "render=blend, or put a sink that draws compositions after it, such as glimagesink.");
  }
}

TEST_F(AttachedOverlay, TakesAnOfferOfTheAllocation) {
  set("render", 2);
  accept("ANY");
  offer(nullptr);
  const test::Buffer out = run(boxed());
  ASSERT_TRUE(out) << error();
  EXPECT_GT(rectangles_of(out.get()), 0u);
}

TEST_F(AttachedOverlay, DrawsInTheResolutionOfTheWindow) {
  set("render", 2);
  accept(kAccepts);
  offer(gst_structure_new("window", "width", G_TYPE_UINT, 2u * kAttachedWidth, "height",
                          G_TYPE_UINT, 2u * kAttachedHeight, nullptr));
  const auto boxes = many();
  const test::Buffer out = run(decoded(boxes));
  ASSERT_TRUE(out) << error();
  ASSERT_GT(rectangles_of(out.get()), 0u);
  for (guint i = 0; i < rectangles_of(out.get()); ++i) {
    const Place p = place_of(out.get(), i);
    auto* rectangle = gst_video_overlay_composition_get_rectangle(composition_of(out.get()), i);
    const auto* pixels =
        gst_buffer_get_video_meta(gst_video_overlay_rectangle_get_pixels_unscaled_raw(
            rectangle, GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA));
    EXPECT_EQ(pixels->width, 2 * p.width);
    EXPECT_EQ(pixels->height, 2 * p.height);
  }
  // The middle of the mask has its colour, and what no box is on has none.
  const auto shown = blended(out.get());
  EXPECT_NE(shown[(85 * size_t{kAttachedWidth} + 75) * 4], kBackground);
  EXPECT_NE(shown[(60 * size_t{kAttachedWidth} + 150) * 4], kBackground) << "a keypoint";
}

TEST_F(AttachedOverlay, KeepsWhatOthersAttached) {
  set("render", 2);
  accept(kAccepts);
  GstBuffer* pixels = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_memset(pixels, 0, 0xff, 16);
  gst_buffer_add_video_meta(pixels, GST_VIDEO_FRAME_FLAG_NONE,
                            GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, 2, 2);
  auto* subtitle =
      gst_video_overlay_rectangle_new_raw(pixels, 5, 6, 2, 2, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  auto* composition = gst_video_overlay_composition_new(subtitle);
  GstBuffer* in = boxed(100, 100);
  gst_buffer_add_video_overlay_composition_meta(in, composition);
  gst_video_overlay_composition_unref(composition);
  gst_buffer_unref(pixels);
  const test::Buffer out = run(in);
  ASSERT_GT(rectangles_of(out.get()), 1u);
  EXPECT_EQ(gst_video_overlay_composition_get_rectangle(composition_of(out.get()), 0), subtitle);
  gst_video_overlay_rectangle_unref(subtitle);
}

TEST_F(AttachedOverlay, BlursTheFrameAndAttachesTheRest) {
  set("blur", "person");
  set("render", 2);
  accept(kAccepts);
  GstBuffer* in = boxed(40, 40, 100, 100);
  gst_buffer_memset(in, (80 * size_t{kAttachedWidth} + 80) * 4, 0xff, 4);
  const test::Buffer out = run(in);
  ASSERT_TRUE(out) << error();
  EXPECT_GT(rectangles_of(out.get()), 0u);
  const auto pixels = bytes(out.get());
  EXPECT_LT(*std::ranges::max_element(pixels), 0xff) << "the bright pixel is blurred";
  EXPECT_NE(pixels, blank());
  EXPECT_EQ(pixels[(40 * size_t{kAttachedWidth} + 40) * 4], kBackground)
      << "the outline is not drawn";
}

TEST_F(AttachedOverlay, DoesNotShowWhatItCannotBlur) {
  set("blur", "person");
  set("render", 2);
  accept(kAcceptsGl);
  send_gl("v210");
  EXPECT_FALSE(run(boxed()));
  EXPECT_EQ(flow_, GST_FLOW_ERROR);
  EXPECT_EQ(error(),
            "Objects on the frame cannot be obscured: its format cannot be drawn on. Convert "
            "frames to a format in system memory before boxoverlay.");
  EXPECT_TRUE(run(frame())) << "a frame without such objects passes";
}

TEST_F(AttachedOverlay, ChangesWhilePlaying) {
  accept(("video/x-raw;" + std::string(kAccepts)).c_str());
  for (const int render : {1, 2, 0, 2, 1}) {
    set("render", render);
    const test::Buffer out = run(boxed());
    ASSERT_TRUE(out) << render << error();
    EXPECT_EQ(bytes(out.get()) == blank(), render == 2) << render;
    EXPECT_EQ(rectangles_of(out.get()) > 0, render == 2) << render;
  }
}

TEST_F(AttachedOverlay, LeavesSharedFramesAsTheyAre) {
  set("render", 2);
  accept(kAccepts);
  const test::Buffer shared(boxed());
  const test::Buffer out = run(gst_buffer_ref(shared.get()));
  EXPECT_EQ(rectangles_of(shared.get()), 0u);
  EXPECT_GT(rectangles_of(out.get()), 0u);
  EXPECT_EQ(gst_buffer_peek_memory(out.get(), 0), gst_buffer_peek_memory(shared.get(), 0))
      << "pixels are not copied";
}

}  // namespace
}  // namespace keepbox
