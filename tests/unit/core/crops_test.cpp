// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps of crops: fitted boxes, rotated ones, and keypoints aligned to a template.
#include "core/plan/crops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/reference/backend.h"

namespace keepbox {
namespace {

constexpr Size kFrame{200, 100};

FrameForm grey_frame() {
  FrameForm form{.size = kFrame};
  form.matrix = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  return form;
}

CropPlan plan_for(Size input, uint32_t par_n = 1) {
  const auto plan = plan_crops(grey_frame(), par_n, 1, {.size = input});
  EXPECT_TRUE(plan);
  return *plan;
}

void expect_point(const CropPoint& got, float x, float y) {
  EXPECT_NEAR(got.x, x, 1e-4f);
  EXPECT_NEAR(got.y, y, 1e-4f);
}

TEST(Crops, StretchABoxOverTheInput) {
  const auto crop = crop_of(plan_for({40, 20}), {{10, 30, 90, 70}}, ResizeMode::kStretch);
  ASSERT_TRUE(crop);
  expect_point(crop->map(0, 0), 10, 30);
  expect_point(crop->map(40, 20), 90, 70);
  EXPECT_EQ(crop->place.width, 40u);
  EXPECT_EQ(crop->place.height, 20u);
}

TEST(Crops, KeepTheAspectRatioInALetterbox) {
  const OrientedBox box{{10, 30, 90, 70}};
  const auto centred = crop_of(plan_for({40, 40}), box, ResizeMode::kLetterboxCenter);
  ASSERT_TRUE(centred);
  EXPECT_EQ(centred->place.y, 10u);
  EXPECT_EQ(centred->place.height, 20u);
  expect_point(centred->map(0, 10), 10, 30);
  expect_point(centred->map(40, 30), 90, 70);
  const auto corner = crop_of(plan_for({40, 40}), box, ResizeMode::kLetterboxTopLeft);
  ASSERT_TRUE(corner);
  EXPECT_EQ(corner->place.y, 0u);
  expect_point(corner->map(0, 0), 10, 30);
  const auto wide = crop_of(plan_for({40, 40}, 2), box, ResizeMode::kLetterboxCenter);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->place.height, 10u);  // 160 wide pixels for 40 high ones
}

TEST(Crops, FillTheInputWithTheMiddle) {
  const auto crop = crop_of(plan_for({20, 20}), {{10, 30, 90, 70}}, ResizeMode::kCrop);
  ASSERT_TRUE(crop);
  expect_point(crop->map(0, 0), 30, 30);
  expect_point(crop->map(20, 20), 70, 70);
}

TEST(Crops, ClipUprightBoxesToTheFrame) {
  const auto crop = crop_of(plan_for({10, 10}), {{-50, 80, 50, 120}}, ResizeMode::kStretch);
  ASSERT_TRUE(crop);
  expect_point(crop->map(0, 0), 0, 80);
  expect_point(crop->map(10, 10), 50, 100);
  EXPECT_FALSE(crop_of(plan_for({10, 10}), {{300, 0, 320, 20}}, ResizeMode::kStretch));
  EXPECT_FALSE(crop_of(plan_for({10, 10}), {{10, 10, 10.5f, 20}}, ResizeMode::kStretch));
  EXPECT_FALSE(crop_of(plan_for({10, 10}), {{10, 10, NAN, 20}}, ResizeMode::kStretch));
}

TEST(Crops, TurnOrientedBoxesUpright) {
  const float quarter = std::numbers::pi_v<float> / 2;
  const auto crop = crop_of(plan_for({40, 20}), {{60, 40, 100, 60}, quarter}, ResizeMode::kStretch);
  ASSERT_TRUE(crop);
  // Clockwise by 90 degrees: the box's left side is at the top of the frame's part.
  expect_point(crop->map(20, 10), 80, 50);
  expect_point(crop->map(0, 0), 90, 30);
  expect_point(crop->map(40, 0), 90, 70);
  expect_point(crop->map(0, 20), 70, 30);
}

TEST(Crops, GrowAboutTheCentre) {
  const OrientedBox out = enlarged({{10, 20, 30, 60}, 0.5f}, 1.5f);
  EXPECT_EQ(out.box, (Box{5, 10, 35, 70}));
  EXPECT_EQ(out.angle, 0.5f);
}

/// Keypoints that are the template turned, scaled and moved are met exactly.
TEST(Crops, AlignKeypointsToATemplate) {
  const AlignTemplate& to = arcface_template();
  const double angle = 0.4, scale = 0.7;
  std::vector<Keypoint> points;
  for (const AlignTemplate::Point& point : to.points) {
    const double u = (point.x + 0.5) * scale, v = (point.y + 0.5) * scale;
    points.push_back({static_cast<float>(u * std::cos(angle) - v * std::sin(angle) + 60),
                      static_cast<float>(u * std::sin(angle) + v * std::cos(angle) + 5), 1});
  }
  const auto crop = aligned_crop(plan_for({112, 112}), points, to);
  ASSERT_TRUE(crop);
  for (size_t i = 0; i < points.size(); ++i)
    expect_point(crop->map(to.points[i].x + 0.5f, to.points[i].y + 0.5f), points[i].x, points[i].y);
  const auto larger = aligned_crop(plan_for({224, 224}), points, to);
  ASSERT_TRUE(larger);
  expect_point(larger->map(2 * (to.points[2].x + 0.5f), 2 * (to.points[2].y + 0.5f)), points[2].x,
               points[2].y);
}

TEST(Crops, AlignNothingWithoutKeypoints) {
  const CropPlan plan = plan_for({112, 112});
  EXPECT_FALSE(aligned_crop(plan, {}, arcface_template()));
  const std::vector<Keypoint> same(5, Keypoint{10, 10, 1});
  EXPECT_FALSE(aligned_crop(plan, same, arcface_template()));
}

TEST(Crops, ReadTemplates) {
  const auto read = parse_template("# a nose and two eyes\n96 112\n\n10 20\n-\n 30.5\t40 \r\n");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->size, (Size{96, 112}));
  ASSERT_EQ(read->points.size(), 3u);
  EXPECT_FALSE(read->points[1].used);
  EXPECT_EQ(read->points[2].x, 30.5f);
  for (const char* text :
       {"", "96 112\n10 20\n", "96\n1 2\n3 4\n", "0 5\n1 2\n3 4\n", "96 112\n1 2\n3\n",
        "96 112\n1 2\n3 4 5\n", "96 112\n1 2\n- 4\n", "96 112\n1 2\nnan 4\n"})
    EXPECT_FALSE(parse_template(text)) << text;
}

/// Pixels that the frame does not have are padding.
TEST(Crops, PadWhatTheFrameDoesNotHave) {
  const auto plan = plan_crops(grey_frame(), 1, 1, {.size = {4, 2}, .pad = 7});
  ASSERT_TRUE(plan);
  const auto maker = reference::crop_maker(*plan);
  ASSERT_TRUE(maker);
  std::vector<uint8_t> pixels(size_t{200} * 100 * 3, 200);
  const FramePlanes planes{{pixels.data()}, {600}};
  std::vector<float> input(size_t{4} * 2 * 3);
  const Crop crop{{1, 0, -2, 0, 1, 0}, {0, 0, 4, 1}};
  ASSERT_TRUE((*maker)->make(planes, crop, input.data(), nullptr));
  const std::vector<float> red(input.begin(), input.begin() + 8);
  EXPECT_EQ(red, (std::vector<float>{7, 7, 200, 200, 7, 7, 7, 7}));
}

}  // namespace
}  // namespace keepbox
