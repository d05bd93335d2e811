// SPDX-License-Identifier: LGPL-2.1-or-later
// Position of pictures in inputs, taps of pixels, and invalid plans.
#include "core/plan/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/run/backend.h"

namespace keepbox {
namespace {

using Place = InputPlan::Place;

FrameForm grey(uint32_t width, uint32_t height) {
  FrameForm form{.size = {width, height}, .planes = 1};
  for (size_t i = 0; i < 3; ++i) form.matrix[i][i] = 1;
  return form;
}

InputForm square(uint32_t side) { return {.size = {side, side}}; }

InputPlan planned(const FrameForm& frame, const InputForm& input, ResizeMode mode,
                  uint32_t par_n = 1, uint32_t par_d = 1) {
  auto plan = plan_input(frame, par_n, par_d, input, mode);
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? *plan : InputPlan{};
}

void expect_place(Size frame, ResizeMode mode, Place want, uint32_t par_n = 1, uint32_t par_d = 1) {
  const Place got = planned(grey(frame.width, frame.height), square(640), mode, par_n, par_d).place;
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
void expect_rectangle(Size frame, Size most, Size want, Place place, uint32_t par_n = 1,
                      uint32_t par_d = 1) {
  const Picture picture{.size = frame, .par_n = par_n, .par_d = par_d};
  const InputForm input = rectangle_of(picture, {.size = most}, 32);
  const std::string what = std::to_string(frame.width) + "x" + std::to_string(frame.height);
  EXPECT_EQ(input.size, want) << what << " " << input.size.width << "x" << input.size.height;
  const Place got =
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
InputPlan expect_crop(Size frame, Size input, FittedPlace want, uint32_t par_n = 1,
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
                     tap.part >= 0 && tap.part <= 1;
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

void expect_tap(const Tap& tap, int first, int next, float part) {
  EXPECT_EQ(tap.first, first);
  EXPECT_EQ(tap.next, next);
  EXPECT_FLOAT_EQ(tap.part, part);
}

TEST(InputTaps, AreAtPixelCentres) {
  const auto up = planned(grey(2, 1), {.size = {4, 1}}, ResizeMode::kStretch).columns[0];
  expect_tap(up[0], 0, 0, 0);
  expect_tap(up[1], 0, 1, 0.25f);
  expect_tap(up[2], 0, 1, 0.75f);
  expect_tap(up[3], 1, 1, 0);
  const auto down = planned(grey(1, 4), {.size = {1, 3}}, ResizeMode::kStretch).rows[2];
  expect_tap(down[0], 0, 1, 1.0f / 6);
  expect_tap(down[1], 1, 2, 0.5f);
  expect_tap(down[2], 2, 3, 5.0f / 6);
}

TEST(InputTaps, AreTheSamplesForEqualSizes) {
  for (const uint32_t side : {1u, 33u, 4097u, 16383u}) {
    const auto plan = planned(grey(side, 1), {.size = {side, 1}}, ResizeMode::kStretch);
    for (uint32_t i = 0; i < side; ++i) {
      ASSERT_EQ(plan.columns[1][i].first, int32_t(i));
      ASSERT_EQ(plan.columns[1][i].part, 0);
    }
  }
}

TEST(InputTaps, FollowTheSitingOfChroma) {
  FrameForm frame = grey(5, 5);
  frame.components[1] = {.sub_x = 2, .sub_y = 2, .shift_x = 0.25f, .shift_y = 0.5f};
  const auto plan = planned(frame, {.size = {5, 5}}, ResizeMode::kStretch);
  ASSERT_EQ(plan.columns[1].size(), 5);
  expect_tap(plan.columns[1][0], 0, 1, 0);  // on the first of two pixels
  expect_tap(plan.columns[1][1], 0, 1, 0.5f);
  expect_tap(plan.columns[1][2], 1, 2, 0);
  expect_tap(plan.columns[1][4], 2, 2, 0);  // the third sample represents the odd column
  expect_tap(plan.rows[1][0], 0, 0, 0);     // between them
  expect_tap(plan.rows[1][1], 0, 1, 0.25f);
  expect_tap(plan.rows[1][2], 0, 1, 0.75f);
  expect_tap(plan.rows[1][4], 1, 2, 0.75f);
}

TEST(InputTaps, OfACropAreThoseOfTheWholePicture) {
  const auto same = planned(grey(4, 2), {.size = {2, 2}}, ResizeMode::kCrop);
  expect_tap(same.columns[0][0], 1, 2, 0);
  expect_tap(same.columns[0][1], 2, 3, 0);
  expect_tap(same.rows[0][1], 1, 1, 0);
  const auto half = planned(grey(2, 8), {.size = {1, 2}}, ResizeMode::kCrop).rows[0];
  expect_tap(half[0], 2, 3, 0.5f);
  expect_tap(half[1], 4, 5, 0.5f);
  FrameForm frame = grey(5, 3);
  frame.components[1] = {.sub_x = 2, .shift_x = 0.25f};
  const auto chroma = planned(frame, {.size = {3, 3}}, ResizeMode::kCrop).columns[1];
  expect_tap(chroma[0], 0, 1, 0.5f);  // second of five pixels
  expect_tap(chroma[1], 1, 2, 0);
}

TEST(InputRules, FollowTheOrderOfChannels) {
  InputForm input = square(4);
  input.mean = {1, 2, 3};
  input.deviation = {2, 4, 8};
  input.pad = 9;
  input.bgr = true;
  const PixelRules rules = planned(grey(4, 4), input, ResizeMode::kStretch).rules;
  EXPECT_EQ(rules.matrix[0][2], 1);
  EXPECT_EQ(rules.matrix[0][0], 0);
  EXPECT_EQ(rules.deviation[0], 8);
  EXPECT_EQ(rules.mean[2], 1);
  EXPECT_EQ(rules.padding[2], 4);
  EXPECT_EQ(rules.channel_step, 16);
  input.channels_last = true;
  input.channels = 1;
  const PixelRules luma = planned(grey(4, 4), input, ResizeMode::kStretch).rules;
  EXPECT_EQ(luma.matrix[0][0], 1);  // R stays first
  EXPECT_EQ(luma.deviation[0], 2);
  EXPECT_EQ(luma.pixel_step, 1);
}

TEST(InputMakers, WriteTheExpectedValues) {
  // A row of red 10 and 200 with green 100 and blue 250, and a black row below.
  const uint8_t pixels[] = {10, 100, 250, 200, 100, 250, 0, 0, 0, 0, 0, 0};
  FrameForm frame = grey(2, 2);
  for (uint8_t i = 0; i < 3; ++i) frame.components[i] = {.offset = i, .step = 3};
  InputForm input{.size = {2, 4}, .channels_last = true, .deviation = {10, 10, 10}, .pad = 50};
  const auto plan = planned(frame, input, ResizeMode::kLetterboxTopLeft);
  const FramePlanes planes{.data = {pixels}, .stride = {6}};
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    alignas(16) float out[24];
    auto maker = backend.input_maker(plan);
    ASSERT_TRUE(maker) << maker.error().message();
    ASSERT_TRUE((*maker)->make(planes, out, nullptr));
    const float want[24] = {1, 10, 25, 20, 10, 25, 0, 0, 0, 0, 0, 0,
                            5, 5,  5,  5,  5,  5,  5, 5, 5, 5, 5, 5};
    for (size_t i = 0; i < 24; ++i) EXPECT_FLOAT_EQ(out[i], want[i]) << backend.name << " " << i;
  }
}

TEST(InputMakers, CutTheMiddleOut) {
  const uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8};
  InputForm input{.size = {2, 2}, .channels_last = true, .pad = 99};
  const auto plan = planned(grey(4, 2), input, ResizeMode::kCrop);
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    alignas(16) float out[12];
    auto maker = backend.input_maker(plan);
    ASSERT_TRUE(maker) << maker.error().message();
    ASSERT_TRUE((*maker)->make({.data = {pixels}, .stride = {4}}, out, nullptr));
    const float want[4] = {2, 3, 6, 7};
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(out[i], want[i / 3]) << backend.name << " " << i;
  }
}

TEST(InputMakers, DivideAsFrameworksDo) {
  uint8_t pixels[256];
  std::iota(std::begin(pixels), std::end(pixels), uint8_t{0});
  InputForm input{.size = {256, 1}, .deviation = {255, 255, 255}};
  const auto plan = planned(grey(256, 1), input, ResizeMode::kStretch);
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    alignas(16) float out[3 * 256];
    auto maker = backend.input_maker(plan);
    ASSERT_TRUE(maker) << maker.error().message();
    ASSERT_TRUE((*maker)->make({.data = {pixels}, .stride = {256}}, out, nullptr));
    for (int i = 0; i < 3 * 256; ++i)
      EXPECT_EQ(out[i], float(i % 256) / 255) << backend.name << " " << i;
  }
}

TEST(InputPlans, InvalidOnesAreErrors) {
  struct Refusal {
    const char* name;
    ErrorKind kind;
    std::function<void(FrameForm&, InputForm&)> spoil;
  };
  const Refusal cases[] = {
      {"no width", ErrorKind::kInvalid, [](auto& f, auto&) { f.size.width = 0; }},
      {"no height", ErrorKind::kInvalid, [](auto&, auto& i) { i.size.height = 0; }},
      {"a large frame", ErrorKind::kInvalid, [](auto& f, auto&) { f.size.height = 16385; }},
      {"a large input", ErrorKind::kInvalid, [](auto&, auto& i) { i.size.width = 16385; }},
      {"deviation 0", ErrorKind::kInvalid, [](auto&, auto& i) { i.deviation[1] = 0; }},
      {"tiny", ErrorKind::kInvalid, [](auto&, auto& i) { i.deviation[2] = 1e-40f; }},
      {"NaN", ErrorKind::kInvalid, [](auto&, auto& i) { i.mean[0] = std::nanf(""); }},
      {"type", ErrorKind::kUnsupported, [](auto&, auto& i) { i.type = DataType::kInt8; }},
      {"channels", ErrorKind::kUnsupported, [](auto&, auto& i) { i.channels = 4; }},
      {"plane", ErrorKind::kInvalid, [](auto& f, auto&) { f.components[2].plane = 1; }},
      {"step", ErrorKind::kInvalid, [](auto& f, auto&) { f.components[0].step = 0; }},
      {"sub", ErrorKind::kInvalid, [](auto& f, auto&) { f.components[1].sub_y = 0; }},
  };
  for (const Refusal& each : cases) {
    FrameForm frame = grey(8, 8);
    InputForm input = square(8);
    ASSERT_TRUE(plan_input(frame, 1, 1, input, ResizeMode::kStretch));
    each.spoil(frame, input);
    const auto plan = plan_input(frame, 1, 1, input, ResizeMode::kStretch);
    ASSERT_FALSE(plan) << each.name;
    EXPECT_EQ(plan.error().kind, each.kind) << plan.error().message();
  }
  EXPECT_FALSE(plan_input(grey(8, 8), 0, 1, square(8), ResizeMode::kStretch));
  EXPECT_FALSE(plan_input(grey(8, 8), 1, 0, square(8), ResizeMode::kStretch));
  const auto tall = plan_input(grey(8, 16385), 1, 1, square(8), ResizeMode::kStretch);
  ASSERT_FALSE(tall);
  EXPECT_EQ(tall.error().found, "8x16385");
}

}  // namespace
}  // namespace keepbox
