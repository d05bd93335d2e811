// SPDX-License-Identifier: LGPL-2.1-or-later
// Taps of input pixels, values, and invalid plans.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "core/run/backend.h"
#include "tests/unit/core/input.h"

namespace keepbox {
namespace {

using test::grey;
using test::planned;
using test::square;

void expect_tap(const Tap& tap, int first, int next, float part) {
  EXPECT_EQ(tap.first, first);
  EXPECT_EQ(tap.next, next);
  EXPECT_FLOAT_EQ(tap.weight, part);
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
      ASSERT_EQ(plan.columns[1][i].weight, 0);
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
