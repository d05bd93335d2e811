// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes that boxoverlay attaches for downstream to draw: where they are, and what is drawn.
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "tests/gst/overlay/attached.h"
#include "tests/masks.h"

namespace keepbox {
namespace {

using test::AttachedOverlay;
using test::bytes;
using test::composition_of;
using test::kAccepts;
using test::kAttachedHeight;
using test::kAttachedWidth;
using test::kBackground;
using test::rectangles_of;

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

/// Boxes, upright and oriented, some beyond the edges, with a mask and keypoints.
class ManyBoxes {
 public:
  std::vector<FrameBox> list() const {
    std::vector<FrameBox> boxes;
    for (int i = 0; i < 12; ++i) {
      const auto x = static_cast<float>(i * 67 % kAttachedWidth - 9);
      const auto y = static_cast<float>(i * 53 % kAttachedHeight - 6);
      FrameBox box{.box = {x, y, x + 51, y + 43}, .score = 0.9f - 0.02f * static_cast<float>(i)};
      box.label = g_quark_from_static_string(i % 2 == 0 ? "person" : "car");
      box.class_id = static_cast<uint32_t>(i % 2);
      box.anchor = static_cast<uint32_t>(i);
      if (i % 4 == 3) box.angle = 0.4f;
      boxes.push_back(box);
    }
    boxes[0].mask = mask_.over({30, 40, 120, 130});
    boxes[1].keypoints = {points_, edges_, 0};
    return boxes;
  }

 private:
  test::TestMask mask_{{".##.", "####", "####", ".##."}};
  std::vector<Keypoint> points_{{150, 60, 1}, {190, 90, 1}, {160, 120, 1}};
  std::vector<Edge> edges_{{0, 1}, {1, 2}};
};

/// Blends what is attached, as a sink does.
std::vector<guint8> blended(GstBuffer* buffer, const GstVideoInfo& info) {
  const test::Buffer copy(gst_buffer_copy_deep(buffer));
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, copy.get(), GST_MAP_READWRITE)) return {};
  EXPECT_TRUE(gst_video_overlay_composition_blend(composition_of(buffer), &frame));
  gst_video_frame_unmap(&frame);
  return bytes(copy.get());
}

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
    const ManyBoxes many;
    const auto boxes = many.list();
    const std::vector<guint8> wanted = drawn(decoded(boxes));
    set("render", 2);
    accept(kAccepts);
    const test::Buffer out = run(decoded(boxes));
    ASSERT_TRUE(out) << name << error();
    EXPECT_EQ(bytes(out.get()), blank()) << "the frame itself is unchanged";
    ASSERT_GT(rectangles_of(out.get()), 0u);
    const std::vector<guint8> found = blended(out.get(), info_);
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
  EXPECT_EQ(blended(next.get(), info_)[(160 * size_t{kAttachedWidth} + 200) * 4], kBackground);
  EXPECT_EQ(rectangles_of(run(frame()).get()), 0u) << "nothing for a frame without boxes";
}

TEST_F(AttachedOverlay, DrawsInTheResolutionOfTheWindow) {
  set("render", 2);
  accept(kAccepts);
  offer(gst_structure_new("window", "width", G_TYPE_UINT, 2u * kAttachedWidth, "height",
                          G_TYPE_UINT, 2u * kAttachedHeight, nullptr));
  const ManyBoxes many;
  const auto boxes = many.list();
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
  const auto shown = blended(out.get(), info_);
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
