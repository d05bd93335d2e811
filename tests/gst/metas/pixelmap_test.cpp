// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps of pixels, and GStreamer's matrix transform.
#include "gst/metas/pixelmap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

namespace keepbox {
namespace {

TEST(PixelMap, InvertsAndComposes) {
  const auto map = PixelMap::scale(2, 3, 5, 7).then(PixelMap({0, -1, 100, 1, 0, 0, 0, 0, 1}));
  const auto there = map.point(11, 13);
  const auto back = map.inverse()->point(there.x, there.y);
  EXPECT_NEAR(back.x, 11, 1e-9);
  EXPECT_NEAR(back.y, 13, 1e-9);
  EXPECT_EQ(map(Box{0, 0, 10, 10}), (Box{63, 5, 93, 25}));
  EXPECT_FALSE(PixelMap::scale(0, 1).inverse());
  EXPECT_FALSE(PixelMap::scale(NAN, 1).inverse());
}

/// Edges in a picture of 40 x 30, as with videoflip.
TEST(PixelMap, MapsEdgesUnlikeGStreamersMatrix) {
  struct Case {
    const char* method;
    gfloat matrix[3][3];
    Box to;
  };
  const Case cases[] = {{"identity", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {10, 4, 18, 9}},
                        {"horizontal-flip", {{-1, 0, 39}, {0, 1, 0}, {0, 0, 1}}, {22, 4, 30, 9}},
                        {"vertical-flip", {{1, 0, 0}, {0, -1, 29}, {0, 0, 1}}, {10, 21, 18, 26}},
                        {"rotate-180", {{-1, 0, 39}, {0, -1, 29}, {0, 0, 1}}, {22, 21, 30, 26}},
                        {"clockwise", {{0, -1, 29}, {1, 0, 0}, {0, 0, 1}}, {21, 10, 26, 18}},
                        {"counterclockwise", {{0, 1, 0}, {-1, 0, 39}, {0, 0, 1}}, {4, 22, 9, 30}}};
  const GQuark quark = g_quark_from_string("gst-video-matrix");
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, 40, 30);
  for (const Case& one : cases) {
    SCOPED_TRACE(one.method);
    MatrixTransform change{&info, {0, 0, 40, 30}, &info, {0, 0, 40, 30}, {}};
    std::memcpy(change.matrix, one.matrix, sizeof change.matrix);
    const auto map = matrix_of(quark, &change);
    ASSERT_TRUE(map);
    EXPECT_EQ((*map)(Box{10, 4, 18, 9}), one.to);
    const MatrixTransform back = matrix_transform(*map, info, info);
    EXPECT_EQ(std::memcmp(back.matrix, one.matrix, sizeof back.matrix), 0);
  }
}

TEST(PixelMap, HasTheRectanglesOfGStreamersMatrix) {
  GstVideoInfo from, to;
  gst_video_info_set_format(&from, GST_VIDEO_FORMAT_RGB, 40, 30);
  gst_video_info_set_format(&to, GST_VIDEO_FORMAT_RGB, 80, 50);
  MatrixTransform change = matrix_transform(PixelMap(), from, to);
  const auto sides = [](const GstVideoRectangle& r) { return std::tuple(r.x, r.y, r.w, r.h); };
  EXPECT_EQ(sides(change.in_rectangle), std::tuple(0, 0, 40, 30));
  EXPECT_EQ(sides(change.out_rectangle), std::tuple(0, 0, 80, 50));
  change.in_rectangle.x = 4, change.in_rectangle.y = 2;
  change.out_rectangle.x = 10, change.out_rectangle.y = 30;
  const auto map = matrix_of(g_quark_from_string("gst-video-matrix"), &change);
  ASSERT_TRUE(map);
  EXPECT_EQ((*map)(Box{10, 4, 18, 9}), (Box{16, 32, 24, 37}));
  EXPECT_FALSE(matrix_of(0, &change));
  EXPECT_FALSE(matrix_of(g_quark_from_string("gst-copy"), &change));
}

TEST(PixelMap, GrowthIsThatOfTheLongerSide) {
  EXPECT_EQ(PixelMap::scale(2, 3).growth(), 3);
  EXPECT_EQ(PixelMap::scale(4, 3).growth(), 4);
  EXPECT_EQ(PixelMap({0, -2, 100, 5, 0, 0, 0, 0, 1}).growth(), 5);
}

TEST(PixelMap, RotatesBoxesWithThePicture) {
  // A square rotated by 45 degrees, in a picture rotated by 90: rotated by 135.
  const PixelMap quarter({0, -1, 100, 1, 0, 0, 0, 0, 1});
  const OrientedBox out = quarter(OrientedBox{{10, 20, 20, 30}, static_cast<float>(M_PI / 4)});
  EXPECT_NEAR(out.angle, 3 * M_PI / 4, 1e-6);
  EXPECT_NEAR(out.box.x1, 70, 1e-5);
  EXPECT_NEAR(out.box.y1, 10, 1e-5);
  EXPECT_NEAR(out.box.x2, 80, 1e-5);
  // Unequal scales: a box along the diagonal of a picture that becomes twice as wide.
  const OrientedBox wide = PixelMap::scale(2, 1)(OrientedBox{{-5, -1, 5, 1}, 0.5f});
  EXPECT_NEAR(wide.angle, std::atan2(std::sin(0.5), 2 * std::cos(0.5)), 1e-6);
  const double longer = 10 * std::hypot(2 * std::cos(0.5), std::sin(0.5));
  EXPECT_NEAR(wide.box.x2 - wide.box.x1, longer, 1e-5);
  EXPECT_NEAR(wide.box.y2 - wide.box.y1, 40 / longer, 1e-5) << "the area is twice what it was";
  // The angle is that of the longer side, and of the width of a square.
  const OrientedBox square = PixelMap::scale(2, 1)(OrientedBox{{-5, -5, 5, 5}, 0.5f});
  EXPECT_NEAR(square.angle, wide.angle, 1e-6);
  const OrientedBox high = PixelMap::scale(2, 1)(OrientedBox{{-1, -5, 1, 5}, 0.5f});
  EXPECT_NEAR(high.angle, std::atan2(2 * std::sin(0.5), std::cos(0.5)), 1e-6);
}

Picture picture_of_size(uint32_t width, uint32_t height, uint32_t par_n = 1, uint32_t par_d = 1) {
  return {.size = {width, height}, .par_n = par_n, .par_d = par_d};
}

TEST(PixelTransforms, FitTheShapeOfThePicture) {
  const Picture square = picture_of_size(64, 64);
  const auto corner = [&](const Picture& to) {
    const PixelMap map = map_of({{square, square, PixelMap()}, {square, to, std::nullopt}}, to,
                                ResizeMode::kLetterboxCenter);
    const PixelMap::Point out = map.point(0, 0);
    return std::pair(out.x, out.y);
  };
  EXPECT_EQ(corner(square), std::pair(0.0, 0.0));
  EXPECT_EQ(corner(picture_of_size(64, 64, 3, 3)), std::pair(0.0, 0.0)) << "square pixels as well";
  EXPECT_EQ(corner(picture_of_size(128, 64)), std::pair(32.0, 0.0));
  EXPECT_EQ(corner(picture_of_size(64, 64, 2, 1)), std::pair(16.0, 0.0)) << "wide pixels";
}

TEST(PixelTransforms, BeginAnewWithTheLastInference) {
  GstBuffer* frame = gst_buffer_new();
  const Picture large = picture_of_size(64, 48), small = picture_of_size(32, 24);
  begin_transforms(frame, 7, large);
  begin_transforms(frame, 8, large);
  begin_transforms(frame, 7, small);
  const auto width_of = [&](uint64_t producer) {
    return map_from_inferred(frame, producer, small, ResizeMode::kStretch)->point(16, 0).x;
  };
  EXPECT_EQ(width_of(7), 16);
  EXPECT_EQ(width_of(8), 8) << "of another model";
  EXPECT_FALSE(map_from_inferred(frame, 9, small, ResizeMode::kStretch));
  gst_buffer_unref(frame);
}

}  // namespace
}  // namespace keepbox
