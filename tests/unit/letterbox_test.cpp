// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames resized into models, and back.
#include "core/letterbox.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

constexpr Picture picture(uint32_t width, uint32_t height) { return {.size = {width, height}}; }

void expect_near(const Box& a, const Box& b, float tolerance) {
  EXPECT_NEAR(a.x1, b.x1, tolerance);
  EXPECT_NEAR(a.y1, b.y1, tolerance);
  EXPECT_NEAR(a.x2, b.x2, tolerance);
  EXPECT_NEAR(a.y2, b.y2, tolerance);
}

TEST(Letterbox, OfEqualSizesIsTheIdentity) {
  const Box b{1.25f, 2.5f, 100.125f, 200.0625f};
  for (const auto mode :
       {ResizeMode::kStretch, ResizeMode::kLetterboxCenter, ResizeMode::kLetterboxTopLeft,
        ResizeMode::kLetterboxScaler}) {
    const Letterbox map = make_letterbox(picture(640, 480), picture(640, 480), mode);
    EXPECT_EQ(map.to_frame(b), b);
    EXPECT_EQ(map.to_model(b), b);
  }
}

TEST(Letterbox, CentersAWideFrame) {
  const Letterbox map =
      make_letterbox(picture(1920, 1080), picture(640, 640), ResizeMode::kLetterboxCenter);
  EXPECT_EQ(map.pad_x, 0);
  EXPECT_EQ(map.pad_y, 140);
  expect_near(map.to_frame({100, 240, 300, 340}), {300, 300, 900, 600}, 1e-3f);
}

TEST(Letterbox, CentersATallFrame) {
  const Letterbox map =
      make_letterbox(picture(586, 640), picture(416, 416), ResizeMode::kLetterboxCenter);
  EXPECT_FLOAT_EQ(map.pad_x, (416 - 586 * 0.65f) / 2);
  EXPECT_EQ(map.pad_y, 0);
  EXPECT_FLOAT_EQ(map.scale_x, 1 / 0.65f);
  EXPECT_FLOAT_EQ(map.scale_y, 1 / 0.65f);
}

TEST(Letterbox, RoundsAsTheScalerDoes) {
  // Seen on videoconvertscale's output: rows 51 to 363 and columns 18 to 397 are picture.
  Letterbox map = make_letterbox(picture(640, 483), picture(416, 416), ResizeMode::kLetterboxScaler);
  expect_near(map.to_frame({0, 51, 416, 364}), {0, 0, 640, 483}, 1e-3f);
  map = make_letterbox(picture(586, 640), picture(416, 416), ResizeMode::kLetterboxScaler);
  expect_near(map.to_frame({18, 0, 398, 416}), {0, 0, 586, 640}, 1e-3f);
}

TEST(Letterbox, PadsAtTheEndWhenTopLeft) {
  const Letterbox map =
      make_letterbox(picture(1280, 720), picture(640, 640), ResizeMode::kLetterboxTopLeft);
  expect_near(map.to_frame({0, 0, 640, 360}), {0, 0, 1280, 720}, 1e-3f);
}

TEST(Letterbox, StretchesEachAxis) {
  const Letterbox map =
      make_letterbox(picture(1280, 720), picture(640, 640), ResizeMode::kStretch);
  expect_near(map.to_frame({0, 0, 640, 640}), {0, 0, 1280, 720}, 1e-3f);
}

TEST(Letterbox, SeesThatOddPixelsFillTheModel) {
  // A scaler that may change the pixel aspect ratio pads nothing: 16:9 in a square of 16:9 pixels.
  const Picture model{.size = {640, 640}, .par_n = 16, .par_d = 9};
  const Letterbox map = make_letterbox(picture(1920, 1080), model, ResizeMode::kLetterboxCenter);
  EXPECT_EQ(map.pad_x, 0);
  EXPECT_EQ(map.pad_y, 0);
  expect_near(map.to_frame({0, 0, 640, 640}), {0, 0, 1920, 1080}, 1e-3f);
}

TEST(Letterbox, InverseIsTheIdentity) {
  for (const uint32_t w : {1u, 3u, 97u, 640u, 1919u, 4096u})
    for (const uint32_t h : {1u, 2u, 101u, 481u, 1080u})
      for (const auto mode : {ResizeMode::kStretch, ResizeMode::kLetterboxCenter,
                              ResizeMode::kLetterboxTopLeft}) {
        const Letterbox map = make_letterbox(picture(w, h), picture(416, 320), mode);
        const Box b{10.5f, 20.25f, 300.75f, 310.125f};
        expect_near(map.to_model(map.to_frame(b)), b, 0.01f);
      }
}

TEST(Clip, KeepsWhatIsInside) {
  EXPECT_EQ(clip({-5, -6, 20, 30}, {10, 12}), (Box{0, 0, 10, 12}));
  EXPECT_TRUE(is_empty(clip({-5, 0, -1, 5}, {10, 10})));
  EXPECT_TRUE(is_empty(clip({10, 0, 15, 5}, {10, 10})));
  EXPECT_FALSE(is_empty(clip({9.5f, 0, 15, 5}, {10, 10})));
}

}  // namespace
}  // namespace keepbox
