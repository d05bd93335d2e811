// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and masks on their way from the image of an object to the frame.
#include "gst/decode/boxes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace keepbox {
namespace {

constexpr Size kInput{64, 32}, kPicture{640, 480};

/// Returns the record of an image whose pixels are `scale` of the frame's apart.
PictureRecord record(float x, float y, float scale, float angle) {
  const auto at = [&](float u, float v) {
    return CropPoint{x + scale * (u * std::cos(angle) - v * std::sin(angle)),
                     y + scale * (u * std::sin(angle) + v * std::cos(angle))};
  };
  return {.od_id = 7, .image = 3, .origin = at(0, 0), .right = at(64, 0), .down = at(0, 32)};
}

FrameBox box_at(Box at, float angle = 0) { return {.box = at, .angle = angle}; }

void expect_close(const Box& a, const Box& b, float most) {
  EXPECT_NEAR(a.x1, b.x1, most);
  EXPECT_NEAR(a.y1, b.y1, most);
  EXPECT_NEAR(a.x2, b.x2, most);
  EXPECT_NEAR(a.y2, b.y2, most);
}

TEST(ObjectImage, OfAnUprightBoxIsALetterbox) {
  const auto of = object_image(record(100, 50, 2, 0), kInput, kPicture, kPicture);
  ASSERT_TRUE(of);
  EXPECT_EQ(of->od_id, 7u);
  EXPECT_EQ(of->image, 3u);
  EXPECT_FALSE(of->turn);
  EXPECT_EQ(of->letterbox.frame, kPicture);
  EXPECT_EQ(of->letterbox.to_frame({0, 0, 64, 32}), (Box{100, 50, 228, 114}));
}

TEST(ObjectImage, IsOfTheFrameThatBoxesAreMappedTo) {
  const auto of = object_image(record(100, 50, 2, 0), kInput, kPicture, {320, 480});
  ASSERT_TRUE(of);
  EXPECT_EQ(of->letterbox.to_frame({0, 0, 64, 32}), (Box{50, 50, 114, 114}));
}

TEST(ObjectImage, WithoutAreaIsNone) {
  EXPECT_FALSE(object_image(record(100, 50, 0, 0), kInput, kPicture, kPicture));
  EXPECT_FALSE(object_image(record(100, 50, NAN, 0), kInput, kPicture, kPicture));
  EXPECT_FALSE(object_image(record(INFINITY, 50, 1, 0), kInput, kPicture, kPicture));
}

TEST(ObjectImage, OfARotatedBoxRotatesBoxes) {
  const auto of = object_image(record(300, 200, 2, 0.5f), kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  // Sizes are those of the frame already.
  FrameBox found = box_at(of->letterbox.to_frame({16, 8, 48, 24}));
  expect_close(found.box, {32, 16, 96, 48}, 1e-3f);
  ASSERT_TRUE(turn_box(found, *of->turn, kPicture));
  EXPECT_NEAR(found.angle, 0.5f, 1e-5f);
  const float x = 300 + 64 * std::cos(0.5f) - 32 * std::sin(0.5f);
  const float y = 200 + 64 * std::sin(0.5f) + 32 * std::cos(0.5f);
  expect_close(found.box, {x - 32, y - 16, x + 32, y + 16}, 1e-2f);
  FrameBox tall = box_at({20, 10, 40, 60});
  ASSERT_TRUE(turn_box(tall, *of->turn, kPicture));
  EXPECT_NEAR(tall.angle, 0.5f, 1e-5f);
  FrameBox oriented = box_at({32, 16, 96, 48}, 0.25f);
  ASSERT_TRUE(turn_box(oriented, *of->turn, kPicture));
  EXPECT_NEAR(oriented.angle, 0.75f, 1e-4f);
}

/// Frames that were flipped or rotated by quarters since keep upright boxes upright.
TEST(ObjectImage, FlipsAndQuarterTurnsKeepBoxesUpright) {
  const PictureRecord mirrored{0, 0, {228, 50}, {100, 50}, {228, 114}};
  auto of = object_image(mirrored, kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  FrameBox found = box_at(of->letterbox.to_frame({0, 0, 16, 8}));
  ASSERT_TRUE(turn_box(found, *of->turn, kPicture));
  EXPECT_EQ(found.angle, 0);
  expect_close(found.box, {196, 50, 228, 66}, 1e-3f);
  const PictureRecord quarter{0, 0, {164, 50}, {164, 178}, {100, 50}};
  of = object_image(quarter, kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  found = box_at(of->letterbox.to_frame({0, 0, 16, 8}));
  ASSERT_TRUE(turn_box(found, *of->turn, kPicture));
  EXPECT_EQ(found.angle, 0);
  expect_close(found.box, {148, 50, 164, 82}, 1e-3f);
}

TEST(ObjectImage, DropsBoxesOutsideOfTheFrame) {
  const auto of = object_image(record(620, 470, 1, 0.5f), kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  FrameBox inside = box_at({0, 0, 8, 8}), outside = box_at({40, 10, 60, 20});
  EXPECT_TRUE(turn_box(inside, *of->turn, kPicture));
  EXPECT_FALSE(turn_box(outside, *of->turn, kPicture));
  const PictureRecord quarter{0, 0, {10, 50}, {10, 114}, {-22, 50}};
  const auto turned = object_image(quarter, kInput, kPicture, kPicture);
  FrameBox cut = box_at({0, 0, 16, 32});
  ASSERT_TRUE(turned && turned->turn && turn_box(cut, *turned->turn, kPicture));
  expect_close(cut.box, {0, 50, 10, 66}, 1e-3f);  // upright boxes are clipped
}

/// The pixels of a turned mask are those whose centres were in the object.
TEST(ObjectImage, RotatesMasks) {
  constexpr float kAngle = 0.5f;
  const auto of = object_image(record(300, 200, 1, kAngle), kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  std::vector<uint32_t> half(2 * 16);  // 40 x 16, the left half inside the object
  for (size_t y = 0; y < 16; ++y) half[2 * y] = 0xfffffu;
  const Mask mask{half.data(), 2, 0, 40, 16, {8, 4, 48, 20}};
  std::vector<uint32_t> words;
  const Mask turned = turned_mask(mask, *of->turn, kPicture, words);
  ASSERT_NE(turned.bits, nullptr);
  EXPECT_EQ(turned.width,
            uint32_t(turned.place.x2 - turned.place.x1));  // a pixel of the frame each
  size_t inside = 0;
  for (uint32_t y = 0; y < turned.height; ++y)
    for (uint32_t x = 0; x < turned.width; ++x) {
      const double dx = turned.place.x1 + (x + 0.5) - 300;
      const double dy = turned.place.y1 + (y + 0.5) - 200;
      const double u = dx * std::cos(kAngle) + dy * std::sin(kAngle);
      const double v = -dx * std::sin(kAngle) + dy * std::cos(kAngle);
      const double edge = std::min({u - 8, 28 - u, v - 4, 20 - v});
      if (std::abs(edge) < 1e-3) continue;
      ASSERT_EQ(turned.at(x, y), edge > 0) << x << " " << y;
      inside += turned.at(x, y);
    }
  EXPECT_NEAR(double(inside), 20 * 16, 12);
  const Mask none = turned_mask({}, *of->turn, kPicture, words);
  EXPECT_EQ(none.width, 0u);
}

TEST(ObjectImage, RotatesSmallMasksInTheirResolution) {
  const auto of =
      object_image(record(300, 200, 1, float(std::numbers::pi / 4)), kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  const std::vector<uint32_t> full(4, 0xf);
  const Mask mask{full.data(), 1, 0, 4, 4, {0, 0, 32, 32}};
  std::vector<uint32_t> words;
  const Mask turned = turned_mask(mask, *of->turn, kPicture, words);
  EXPECT_EQ(turned.width, 6u);  // 46 pixels of the frame by 8
  EXPECT_TRUE(turned.at(3, 3));
  EXPECT_FALSE(turned.at(0, 0));
}

TEST(ObjectImage, MasksHaveWordsForAllRows) {
  const auto of =
      object_image(record(300, 200, 1, float(std::numbers::pi / 2)), kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  const std::vector<uint32_t> full(16, ~0u);
  const Mask wide{full.data(), 2, 0, 40, 8, {0, 0, 40, 8}};
  std::vector<uint32_t> words;
  const Mask tall = turned_mask(wide, *of->turn, kPicture, words);
  EXPECT_GT(tall.height, 3 * tall.width);
  EXPECT_EQ(words.size(), size_t{tall.stride} * tall.height);
}

TEST(ObjectImage, RotatesMasksWithNarrowPixelsInALowerResolution) {
  const auto of =
      object_image(record(300, 200, 1, float(std::numbers::pi / 4)), kInput, kPicture, kPicture);
  ASSERT_TRUE(of && of->turn);
  const std::vector<uint32_t> full(8192, 0xf);
  const Mask mask{full.data(), 1, 0, 4, 8192, {0, 0, 32, 32}};
  std::vector<uint32_t> words;
  const Mask turned = turned_mask(mask, *of->turn, kPicture, words);
  EXPECT_NEAR(turned.width, 362, 1);  // the root of 4 x 4 x 8192
  EXPECT_NEAR(turned.height, 362, 1);
  EXPECT_TRUE(turned.at(181, 181));
  EXPECT_FALSE(turned.at(9, 9));
}

}  // namespace
}  // namespace keepbox
