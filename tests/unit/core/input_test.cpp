// SPDX-License-Identifier: LGPL-2.1-or-later
// Position of pictures in inputs.
#include "core/plan/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/run/backend.h"
#include "tests/unit/core/input.h"

namespace keepbox {
namespace {

using test::grey;
using test::planned;
using test::square;

using Rect = PixelRect;

void expect_place(Size frame, ResizeMode mode, Rect want, uint32_t par_n = 1, uint32_t par_d = 1) {
  const Rect got = planned(grey(frame.width, frame.height), square(640), mode, par_n, par_d).place;
  EXPECT_EQ(got.x, want.x) << frame.width << "x" << frame.height;
  EXPECT_EQ(got.y, want.y) << frame.width << "x" << frame.height;
  EXPECT_EQ(got.width, want.width) << frame.width << "x" << frame.height;
  EXPECT_EQ(got.height, want.height) << frame.width << "x" << frame.height;
}

TEST(InputPlace, StretchesToTheInput) {
  expect_place({1920, 1080}, ResizeMode::kStretch, {0, 0, 640, 640});
  expect_place({1920, 1080}, ResizeMode::kStretch, {0, 0, 640, 640}, 4, 3);
}

TEST(InputPlace, IsRoundedAndCentredLikeUltralytics) {
  const auto mode = ResizeMode::kLetterboxCenter;
  expect_place({1920, 1080}, mode, {0, 140, 640, 360});
  expect_place({1000, 667}, mode, {0, 106, 640, 427});  // of 426.88; round(106.5 - 0.1)
  expect_place({667, 1000}, mode, {106, 0, 427, 640});
  expect_place({1280, 1275}, mode, {0, 1, 640, 638});  // of 637.5, rounded to even
  expect_place({1280, 1277}, mode, {0, 1, 640, 638});  // of 638.5, rounded to even
  expect_place({320, 240}, mode, {0, 80, 640, 480});
}

TEST(InputPlace, IsAtTheTopLeftLikeYolox) {
  const auto mode = ResizeMode::kLetterboxTopLeft;
  expect_place({1920, 1080}, mode, {0, 0, 640, 360});
  expect_place({1000, 667}, mode, {0, 0, 640, 426});
  expect_place({667, 1000}, mode, {0, 0, 426, 640});
}

TEST(InputPlace, EqualsThatOfTheScaler) {
  for (const Size frame : {Size{640, 483}, Size{586, 640}, Size{1999, 3}, Size{7, 16000}}) {
    const InputPlan plan =
        planned(grey(frame.width, frame.height), square(416), ResizeMode::kLetterboxScaler, 5, 4);
    const Letterbox want = make_letterbox({.size = frame, .par_n = 5, .par_d = 4},
                                          {.size = {416, 416}}, ResizeMode::kLetterboxScaler);
    EXPECT_EQ(plan.letterbox.pad_x, want.pad_x);
    EXPECT_EQ(plan.letterbox.pad_y, want.pad_y);
    EXPECT_EQ(plan.letterbox.scale_x, want.scale_x);
    EXPECT_EQ(plan.letterbox.scale_y, want.scale_y);
  }
}

TEST(InputPlace, KeepsTheDisplayedAspect) {
  expect_place({720, 576}, ResizeMode::kLetterboxCenter, {0, 140, 640, 360}, 64, 45);  // 16:9
  expect_place({720, 576}, ResizeMode::kLetterboxTopLeft, {0, 0, 640, 360}, 64, 45);
  expect_place({100, 100}, ResizeMode::kLetterboxCenter, {160, 0, 320, 640}, 1, 2);
}

/// Checks the input that a picture needs of at most `most`, and the picture's place in it.
void expect_rectangle(Size frame, Size most, Size want, Rect place, uint32_t par_n = 1,
                      uint32_t par_d = 1) {
  const Picture picture{.size = frame, .par_n = par_n, .par_d = par_d};
  const InputForm input = rectangle_of(picture, {.size = most}, 32);
  const std::string what = std::to_string(frame.width) + "x" + std::to_string(frame.height);
  EXPECT_EQ(input.size, want) << what << " " << input.size.width << "x" << input.size.height;
  const Rect got =
      planned(grey(frame.width, frame.height), input, ResizeMode::kLetterboxCenter, par_n, par_d)
          .place;
  EXPECT_EQ(got.x, place.x) << what;
  EXPECT_EQ(got.y, place.y) << what;
  EXPECT_EQ(got.width, place.width) << what;
  EXPECT_EQ(got.height, place.height) << what;
}

TEST(InputRectangle, IsThatOfUltralytics) {
  constexpr Size kSquare{640, 640};
  expect_rectangle({1920, 1080}, kSquare, {640, 384}, {0, 12, 640, 360});
  expect_rectangle({1080, 1920}, kSquare, {384, 640}, {12, 0, 360, 640});
  expect_rectangle({810, 1080}, kSquare, {480, 640}, {0, 0, 480, 640});
  expect_rectangle({1000, 667}, kSquare, {640, 448}, {0, 10, 640, 427});  // round(10.5 - 0.1)
  expect_rectangle({100, 100}, kSquare, kSquare, {0, 0, 640, 640});
  expect_rectangle({720, 576}, kSquare, {640, 384}, {0, 12, 640, 360}, 64, 45);
  expect_rectangle({1920, 1080}, {1280, 736}, {1280, 736}, {0, 8, 1280, 720});
  expect_rectangle({16384, 1}, kSquare, {640, 32}, {0, 15, 640, 1});
}

/// The height of 256.4 pixels is rounded to whole strides, and scales the width no further down.
TEST(InputRectangle, KeepsTheScaleOfTheWholeInput) {
  expect_rectangle({10000, 4006}, {640, 640}, {640, 256}, {0, 0, 640, 256});
}

/// Checks the rectangle of a cropped picture, of which the whole input shows the middle.
InputPlan expect_crop(Size frame, Size input, FittedRect want, uint32_t par_n = 1,
                      uint32_t par_d = 1) {
  const FrameForm form = grey(frame.width, frame.height);
  const InputPlan plan = planned(form, {.size = input}, ResizeMode::kCrop, par_n, par_d);
  const Letterbox& map = plan.letterbox;
  const std::string what = std::to_string(frame.width) + "x" + std::to_string(frame.height);
  EXPECT_EQ(plan.place.x, 0) << what;
  EXPECT_EQ(plan.place.y, 0) << what;
  EXPECT_EQ(plan.place.width, input.width) << what;
  EXPECT_EQ(plan.place.height, input.height) << what;
  EXPECT_EQ(map.pad_x, float(want.x)) << what;
  EXPECT_EQ(map.pad_y, float(want.y)) << what;
  EXPECT_EQ(map.scale_x, float(frame.width) / float(want.width)) << what;
  EXPECT_EQ(map.scale_y, float(frame.height) / float(want.height)) << what;
  EXPECT_FALSE(std::signbit(map.pad_x) && map.pad_x == 0) << what;
  EXPECT_EQ(map, make_letterbox({.size = frame, .par_n = par_n, .par_d = par_d}, {.size = input},
                                ResizeMode::kCrop))
      << what;
  return plan;
}

TEST(InputPlace, IsCroppedLikeTorchvision) {
  constexpr Size kSquare{640, 640};
  expect_crop({1920, 1080}, kSquare, {-248, 0, 1137, 640});  // of 1137.78, round(248.5)
  expect_crop({1080, 1920}, kSquare, {0, -248, 640, 1137});
  expect_crop({1000, 667}, kSquare, {-160, 0, 959, 640});  // of 959.52, round(159.5)
  expect_crop({667, 1000}, kSquare, {0, -160, 640, 959});
  expect_crop({643, 640}, kSquare, {-2, 0, 643, 640});  // round(1.5)
  expect_crop({641, 640}, kSquare, {0, 0, 641, 640});   // round(0.5)
  expect_crop({100, 100}, kSquare, {0, 0, 640, 640});
  expect_crop({640, 480}, {320, 192}, {0, -24, 320, 240});
  expect_crop({720, 576}, kSquare, {-248, 0, 1137, 640}, 64, 45);  // 16:9
  expect_crop({100, 100}, kSquare, {0, -320, 640, 1280}, 1, 2);
  expect_crop({16384, 1}, kSquare, {-5242560, 0, 10485760, 640});
}

TEST(InputPlace, CropsOfEverySizeStayInTheFrame) {
  for (const uint32_t width : {1u, 2u, 3u, 63u, 16383u, 16384u})
    for (const uint32_t height : {1u, 2u, 5u, 64u, 16384u})
      for (const Size input : {Size{1, 1}, Size{1, 7}, Size{13, 2}, Size{31, 33}})
        for (const auto& [par_n, par_d] : {std::pair{1u, 1u}, {0x7fffffffu, 1u}, {3u, ~0u}}) {
          const InputPlan plan =
              planned(grey(width, height), {.size = input}, ResizeMode::kCrop, par_n, par_d);
          ASSERT_EQ(plan.columns[0].size(), input.width);
          ASSERT_EQ(plan.rows[0].size(), input.height);
          const auto inside = [](uint32_t samples) {
            return [=](const Tap& tap) {
              return tap.first >= 0 && tap.next >= tap.first && uint32_t(tap.next) < samples &&
                     tap.weight >= 0 && tap.weight <= 1;
            };
          };
          EXPECT_TRUE(std::ranges::all_of(plan.columns[0], inside(width)));
          EXPECT_TRUE(std::ranges::all_of(plan.rows[0], inside(height)));
          EXPECT_TRUE(std::isfinite(plan.letterbox.pad_x) && plan.letterbox.scale_x > 0);
          EXPECT_TRUE(std::isfinite(plan.letterbox.pad_y) && plan.letterbox.scale_y > 0);
        }
}

TEST(InputPlace, HasAtLeastOnePixel) {
  expect_place({16384, 1}, ResizeMode::kLetterboxTopLeft, {0, 0, 640, 1});
  expect_place({1, 16384}, ResizeMode::kLetterboxCenter, {319, 0, 1, 640});
  expect_place({1, 1}, ResizeMode::kLetterboxCenter, {0, 319, 640, 1}, 0x7fffffff, 1);
}

TEST(InputPlace, MapsBackToTheFrame) {
  const InputPlan plan = planned(grey(1000, 667), square(640), ResizeMode::kLetterboxCenter);
  const Box whole = plan.letterbox.to_frame({0, 106, 640, 106 + 427});
  EXPECT_FLOAT_EQ(whole.x1, 0);
  EXPECT_FLOAT_EQ(whole.y1, 0);
  EXPECT_FLOAT_EQ(whole.x2, 1000);
  EXPECT_FLOAT_EQ(whole.y2, 667);
}

TEST(InputPlace, MapsACropBackToTheFrame) {
  const InputPlan plan = planned(grey(2000, 1000), square(500), ResizeMode::kCrop);
  EXPECT_EQ(plan.letterbox.to_frame({0, 0, 500, 500}), (Box{500, 0, 1500, 1000}));
  EXPECT_EQ(plan.letterbox.to_model({500, 0, 1500, 1000}), (Box{0, 0, 500, 500}));
}

}  // namespace
}  // namespace keepbox
