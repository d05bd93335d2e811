// SPDX-License-Identifier: LGPL-2.1-or-later
// Values of boxes that do not move with the picture, in metas: an embedding, which no model has.
#include "gst/metas/carry.h"
#include "gst/metas/records.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::attach;
using test::boxes;
using test::Buffer;
using test::Harness;
using test::plain_box;

const std::vector<float> kFirstValues{1, -2.5f, 3, 0.25f, 5, 6, 7, 8},
    kSecondValues{8, 7, 6, 5, 4, 3, 2, 1};
const std::vector<Keypoint> kCorners = {{1, 2, 1}, {3, 4, 1}, {5, 6, 1}, {7, 8, 0.5f}};

FrameBox with_values(const Box& box, std::span<const float> values, const char* kind) {
  FrameBox out = plain_box(box);
  out.values = {values, g_quark_from_string(kind)};
  return out;
}

/// Boxes with values, with none, with values of another kind and with keypoints as well.
std::vector<FrameBox> objects() {
  std::vector<FrameBox> out = {
      with_values({100, 110, 160, 170}, kFirstValues, "embedding"), plain_box({10, 10, 60, 60}),
      with_values({20, 20, 90, 90}, kSecondValues, "embedding"),
      with_values({30, 20, 90, 90}, std::span(kSecondValues).first(3), "other")};
  out[2].keypoints = {kCorners, {}, g_quark_from_string("body")};
  return out;
}

std::vector<float> values_of(const FrameBox& box) {
  return {box.values.values.begin(), box.values.values.end()};
}

void expect_objects(const std::vector<FrameBox>& found) {
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(values_of(found[0]), kFirstValues);
  EXPECT_TRUE(found[1].values.values.empty());
  EXPECT_EQ(values_of(found[2]), kSecondValues);
  EXPECT_EQ(values_of(found[3]), (std::vector<float>{8, 7, 6}));
  EXPECT_STREQ(g_quark_to_string(found[0].values.kind), "embedding");
  EXPECT_STREQ(g_quark_to_string(found[3].values.kind), "other");
  EXPECT_EQ(found[2].keypoints.points.size(), 4u);
}

TEST(PayloadValues, AreReadAsTheyWereAttached) {
  const Buffer frame = test::empty_frame();
  auto list = objects();
  attach(frame.get(), list, {.classes = true});
  expect_objects(boxes(frame));
}

TEST(PayloadValues, StayTheSameIfTheVideoIsScaled) {
  Harness h("identity ! videoscale add-borders=false ! video/x-raw,width=320,height=160 ! identity",
            "video/x-raw,format=RGB,width=640,height=640,framerate=30/1,pixel-aspect-ratio=1/1");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr);
  auto list = objects();
  attach(frame, list, {.frame = {640, 640}});
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  expect_objects(found);
  EXPECT_EQ(found[2].keypoints.points[3], (Keypoint{3.5f, 2, 0.5f})) << "keypoints move";
}

TEST(PayloadValues, AreCarriedToAnotherFrame) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, 640, 640);
  const Buffer from = test::empty_frame(), to = test::empty_frame();
  auto list = objects();
  attach(from.get(), list);
  carry_analytics(from.get(), info, to.get(), info, PixelMap::scale(-1, 1, 640), MovedProvenance{});
  const auto found = boxes(to);
  expect_objects(found);
  EXPECT_EQ(found[0].box, (Box{480, 110, 540, 170})) << "boxes move";
  expect_objects(boxes(from));
}

TEST(PayloadValues, FollowAMatrixUnchanged) {
  const Buffer frame = test::empty_frame();
  auto list = objects();
  attach(frame.get(), std::span(list).first(1));
  test::move_pixels(frame, "keepbox-values", PixelMap({0, -1, 640, 1, 0, 0, 0, 0, 1}));
  const auto found = Records(gst_buffer_get_analytics_relation_meta(frame.get())).values(0).values;
  EXPECT_TRUE(std::ranges::equal(found, kFirstValues));
}

}  // namespace
}  // namespace keepbox
