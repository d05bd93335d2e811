// SPDX-License-Identifier: LGPL-2.1-or-later
// Points, masks and angles of boxes between framesave and framerestore.
#include <cmath>

#include "gst/metas/carry.h"
#include "tests/gst/frames/restore.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;
using test::pixels_of;
using test::plain_box;

constexpr uint32_t kCornerMask[] = {0b001, 0b011};  // three pixels wide
const std::vector<Keypoint> kFour = {{10.25f, 20.5f, 1}, {12, 22, 0.5f}, {-4, 1, 0}, {30, 40, 1}};

/// Attaches a box with keypoints, a mask and an angle, and the same one in a letterbox's border.
void attach_both(GstBuffer* frame, float angle) {
  const Mask pixels[] = {{kCornerMask, 1, 0, 3, 2, {0.5f, 1, 6, 5}},
                         {kCornerMask, 1, 0, 3, 2, {10.5f, 20, 26, 35.5f}}};
  const MaskBuffers masks = make_mask_buffers(pixels);
  std::vector<FrameBox> list = {plain_box({0, 0, 8, 6}), plain_box({10, 20, 30, 40})};
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].keypoints = {kFour, find_point_set("body-pose/alignment-4")->edges,
                         g_quark_from_string("body-pose/alignment-4")};
    list[i].mask = masks[i];
    list[i].angle = angle;
  }
  test::attach(frame, list, {.frame = {64, 64}});
}

/// Returns the frame with those attached between the two, at 64 x 64 with borders above and below.
Buffer restored(float angle) {
  // 192 x 108 in 64 x 64 is 64 x 36 with 14 above: full = 3 * (scaled - (0, 14)).
  Harness h(
      "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,pixel-aspect-ratio=1/1 "
      "! identity name=mid ! framerestore",
      kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(+[](GstElement*, GstBuffer* frame, gpointer user) {
                     attach_both(frame, *static_cast<float*>(user));
                   }),
                   &angle);
  gst_object_unref(mid);
  Buffer out = h.run(full_frame());
  EXPECT_TRUE(out) << h.error();
  return out;
}

gsize count_masks(const Buffer& frame) {
  gsize out = 0;
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(gst_buffer_get_analytics_relation_meta(frame.get()),
                                             &state, gst_analytics_segmentation_mtd_get_mtd_type(),
                                             &mtd))
    ++out;
  return out;
}

TEST(RestoreParts, ComeWithTheirBoxes) {
  const Buffer out = restored(0);
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u) << "one lay in the border";
  const FrameBox& box = found[0];
  EXPECT_EQ(box.box, (Box{30, 18, 90, 78}));
  ASSERT_EQ(box.keypoints.points.size(), 4u);
  EXPECT_EQ(box.keypoints.points[0], (Keypoint{30.75f, 19.5f, 1}));
  EXPECT_EQ(box.keypoints.points[2], (Keypoint{-12, -39, 0})) << "not clipped";
  EXPECT_STREQ(g_quark_to_string(box.keypoints.name), "body-pose/alignment-4");
  EXPECT_EQ(box.keypoints.edges.size(), 2u);
  EXPECT_EQ(box.mask.place, (Box{31.5f, 18, 78, 64.5f}));
  EXPECT_EQ(pixels_of(box.mask.pixels), (std::vector{2, 0, 0, 2, 2, 0}));
  EXPECT_EQ(count_masks(out), 1u) << "the other stayed with its box";
}

TEST(RestoreParts, ComeWithOrientedBoxes) {
  const Buffer out = restored(0.5f);
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].angle, 0.5f);
  EXPECT_NEAR(found[0].box.x1, 30, 1e-4);
  EXPECT_NEAR(found[0].box.y2, 78, 1e-4);
  EXPECT_EQ(found[0].keypoints.points.size(), 4u);
  EXPECT_EQ(found[0].mask.place, (Box{31.5f, 18, 78, 64.5f}));
}

/// Boxes that are parts of others, and parts of these, go where their whole goes.
TEST(RestoreParts, AreDroppedWithTheirParent) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, 64, 64);
  const Buffer from = test::empty_frame(), to = test::empty_frame();
  std::vector<FrameBox> wholes{plain_box({0, 0, 9, 9}), plain_box({20, 20, 50, 50})};
  test::attach(from.get(), wholes, {.frame = {64, 64}});
  std::vector<FrameBox> parts(3, plain_box({30, 30, 40, 40}));
  parts[0].parent = wholes[0].od_id;
  parts[1].parent = wholes[1].od_id;
  test::attach(from.get(), std::span(parts).first(2), {.regions = true, .frame = {64, 64}});
  parts[2].parent = parts[0].od_id;
  test::attach(from.get(), std::span(parts).last(1), {.frame = {64, 64}});
  carry_analytics(from.get(), info, to.get(), info, PixelMap::scale(1, 1, -10), MovedProvenance{});
  const auto found = boxes(to);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{10, 20, 40, 50}));
  EXPECT_FALSE(found[0].parent);
  EXPECT_EQ(found[1].parent, found[0].od_id);
  auto* meta = gst_buffer_get_analytics_relation_meta(to.get());
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, found[0].od_id, found[1].od_id),
            GST_ANALYTICS_REL_TYPE_CONTAIN);
  auto* region = gst_buffer_get_video_region_of_interest_meta_id(to.get(), gint(found[1].od_id));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(region->parent_id, gint(found[0].od_id));
}

/// Elements that only map metas, such as videocrop, leave boxes outside of the frame.
TEST(RestoreParts, AreSkippedWithTheirParent) {
  const Buffer frame = test::empty_frame();
  std::vector<FrameBox> whole{plain_box({-30, 0, -10, 9})};
  test::attach(frame.get(), whole, {});
  std::vector<FrameBox> part{plain_box({30, 30, 40, 40})};
  part[0].parent = whole[0].od_id;
  test::attach(frame.get(), part, {});
  EXPECT_EQ(boxes(frame).size(), 0u);
}

/// Other decoders may add parts, and parts of these, before their whole.
TEST(RestoreParts, AreSkippedWithALaterParent) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  for (const gint x : {10, 20, 30, -30})
    gst_analytics_relation_meta_add_od_mtd(meta, 0, x, 0, 8, 8, 0.5f, nullptr);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, 0, 1);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, 1, 3);
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].od_id, 2u);
}

TEST(RestoreParts, MirrorWithThePicture) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, 64, 64);
  const Buffer from = test::empty_frame(), to = test::empty_frame();
  attach_both(from.get(), 0);
  carry_analytics(from.get(), info, to.get(), info, PixelMap::scale(-1, 1, 64), MovedProvenance{});
  const auto found = boxes(to);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].box, (Box{34, 20, 54, 40}));
  EXPECT_EQ(found[1].keypoints.points[0], (Keypoint{53.75f, 20.5f, 1}));
  EXPECT_EQ(found[1].mask.place, (Box{38, 20, 53.5f, 35.5f}));
  EXPECT_EQ(pixels_of(found[1].mask.pixels), (std::vector{0, 0, 2, 0, 2, 2}));
  EXPECT_EQ(pixels_of(boxes(from).at(1).mask.pixels), (std::vector{2, 0, 0, 2, 2, 0}));
}

}  // namespace
}  // namespace keepbox
