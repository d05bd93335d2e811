// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps between frames and model inputs.
#include "core/formula/letterbox.h"

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <random>
#include <utility>

namespace keepbox {
namespace {

constexpr Picture picture(uint32_t width, uint32_t height) { return {.size = {width, height}}; }

void expect_near(const Box& a, const Box& b, float tolerance) {
  EXPECT_NEAR(a.x1, b.x1, tolerance);
  EXPECT_NEAR(a.y1, b.y1, tolerance);
  EXPECT_NEAR(a.x2, b.x2, tolerance);
  EXPECT_NEAR(a.y2, b.y2, tolerance);
}

TEST(Letterbox, EqualSizesAreTheIdentity) {
  const Box b{1.25f, 2.5f, 100.125f, 200.0625f};
  for (const auto mode :
       {ResizeMode::kStretch, ResizeMode::kLetterboxCenter, ResizeMode::kLetterboxTopLeft,
        ResizeMode::kLetterboxScaler, ResizeMode::kCrop}) {
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

TEST(Letterbox, RoundsLikeTheScaler) {
  // From videoconvertscale's output: rows 51 to 363 and columns 18 to 397 are picture.
  Letterbox map =
      make_letterbox(picture(640, 483), picture(416, 416), ResizeMode::kLetterboxScaler);
  expect_near(map.to_frame({0, 51, 416, 364}), {0, 0, 640, 483}, 1e-3f);
  map = make_letterbox(picture(586, 640), picture(416, 416), ResizeMode::kLetterboxScaler);
  expect_near(map.to_frame({18, 0, 398, 416}), {0, 0, 586, 640}, 1e-3f);
}

/// Computes the picture's columns and rows like videoconvertscale, in GStreamer's own arithmetic;
/// nothing if the scaler falls back to stretching.
std::optional<Letterbox> by_the_scalers_rule(const Picture& frame, const Picture& model) {
  const auto i = [](uint32_t value) { return static_cast<gint>(value); };
  gint n = 0, d = 0;
  if (!gst_util_fraction_multiply(i(frame.size.width), i(frame.size.height), i(frame.par_n),
                                  i(frame.par_d), &n, &d) ||
      !gst_util_fraction_multiply(n, d, i(model.par_d), i(model.par_n), &n, &d))
    return std::nullopt;
  guint64 width = model.size.width;
  guint64 height = gst_util_uint64_scale_int(width, d, n);
  if (height > model.size.height) {
    height = model.size.height;
    width = gst_util_uint64_scale_int(height, n, d);
  }
  return Letterbox{.scale_x = static_cast<float>(width),
                   .scale_y = static_cast<float>(height),
                   .pad_x = static_cast<float>((model.size.width - width) / 2),
                   .pad_y = static_cast<float>((model.size.height - height) / 2)};
}

TEST(Letterbox, ScalerModeFollowsTheScaler) {
  constexpr uint32_t kSides[] = {1,   2,   3,   31,  97,   240,  320,  416,  417,
                                 483, 586, 640, 719, 1080, 1919, 4096, 65535};
  constexpr std::pair<uint32_t, uint32_t> kRatios[] = {
      {1, 1}, {16, 11}, {12, 11}, {1, 7}, {97, 89}, {1000003, 999983}, {2147483647, 2}};
  std::mt19937 random(7);
  const auto any = [&](const auto& list) { return list[random() % std::size(list)]; };
  const auto draw = [&] {
    const auto [n, d] = any(kRatios);
    return Picture{.size = {any(kSides), any(kSides)}, .par_n = n, .par_d = d};
  };
  size_t whole = 0, stretched = 0;
  for (int i = 0; i < 100000; ++i) {
    const Picture frame = draw(), model = draw();
    const Letterbox map = make_letterbox(frame, model, ResizeMode::kLetterboxScaler);
    const auto want = by_the_scalers_rule(frame, model);
    const Letterbox place =
        want.value_or(Letterbox{.scale_x = static_cast<float>(model.size.width),
                                .scale_y = static_cast<float>(model.size.height),
                                .pad_x = 0,
                                .pad_y = 0});
    (want ? whole : stretched) += 1;
    if (place.scale_x < 1 || place.scale_y < 1) continue;  // no pixel of the picture
    ASSERT_EQ(map.pad_x, place.pad_x) << i;
    ASSERT_EQ(map.pad_y, place.pad_y) << i;
    ASSERT_FLOAT_EQ(map.scale_x, static_cast<float>(frame.size.width) / place.scale_x) << i;
    ASSERT_FLOAT_EQ(map.scale_y, static_cast<float>(frame.size.height) / place.scale_y) << i;
  }
  EXPECT_GT(whole, 10000u);
  EXPECT_GT(stretched, 10000u);
}

TEST(Letterbox, ScalerModeStartsAtAChromaSample) {
  Picture model = picture(416, 416);
  const Picture frame = picture(640, 483);  // 416 x 313 at row 51
  model.chroma = {2, 2};
  const Letterbox map = make_letterbox(frame, model, ResizeMode::kLetterboxScaler);
  EXPECT_EQ(map.pad_y, 50);
  expect_near(map.to_frame({0, 50, 416, 363}), {0, 0, 640, 483}, 1e-3f);
}

TEST(Letterbox, PadsAtTheEndWhenTopLeft) {
  const Letterbox map =
      make_letterbox(picture(1280, 720), picture(640, 640), ResizeMode::kLetterboxTopLeft);
  expect_near(map.to_frame({0, 0, 640, 360}), {0, 0, 1280, 720}, 1e-3f);
}

TEST(Letterbox, StretchesEachAxis) {
  const Letterbox map = make_letterbox(picture(1280, 720), picture(640, 640), ResizeMode::kStretch);
  expect_near(map.to_frame({0, 0, 640, 640}), {0, 0, 1280, 720}, 1e-3f);
}

TEST(Letterbox, RespectsThePixelAspectRatio) {
  // A scaler that may change the pixel aspect ratio adds no padding: 16:9 in a square of 16:9
  // pixels.
  const Picture model{.size = {640, 640}, .par_n = 16, .par_d = 9};
  const Letterbox map = make_letterbox(picture(1920, 1080), model, ResizeMode::kLetterboxCenter);
  EXPECT_EQ(map.pad_x, 0);
  EXPECT_EQ(map.pad_y, 0);
  expect_near(map.to_frame({0, 0, 640, 640}), {0, 0, 1920, 1080}, 1e-3f);
}

TEST(Letterbox, CropsToFillTheModelInput) {
  const Letterbox wide = make_letterbox(picture(2000, 1000), picture(500, 500), ResizeMode::kCrop);
  EXPECT_EQ(wide.to_frame({0, 0, 500, 500}), (Box{500, 0, 1500, 1000}));
  const Letterbox tall = make_letterbox(picture(300, 900), picture(300, 200), ResizeMode::kCrop);
  EXPECT_EQ(tall.to_frame({0, 0, 300, 200}), (Box{0, 350, 300, 550}));
  const Picture model{.size = {640, 640}, .par_n = 16, .par_d = 9};
  const Letterbox whole = make_letterbox(picture(1920, 1080), model, ResizeMode::kCrop);
  EXPECT_EQ(whole.pad_x, 0);
  EXPECT_EQ(whole.pad_y, 0);
}

TEST(Letterbox, InverseIsTheIdentity) {
  for (const uint32_t w : {1u, 3u, 97u, 640u, 1919u, 4096u})
    for (const uint32_t h : {1u, 2u, 101u, 481u, 1080u})
      for (const auto mode :
           {ResizeMode::kStretch, ResizeMode::kLetterboxCenter, ResizeMode::kLetterboxTopLeft}) {
        const Letterbox map = make_letterbox(picture(w, h), picture(416, 320), mode);
        const Box b{10.5f, 20.25f, 300.75f, 310.125f};
        expect_near(map.to_model(map.to_frame(b)), b, 0.01f);
      }
}

TEST(Letterbox, ContinuesToAScaledOrMovedFrame) {
  const Letterbox map =
      make_letterbox(picture(1920, 1080), picture(640, 640), ResizeMode::kLetterboxCenter);
  EXPECT_EQ(scaled_to(map, {1920, 1080}), map) << "bit-exact";
  const Letterbox half = scaled_to(map, {960, 270});
  EXPECT_EQ(half.frame, (Size{960, 270}));
  EXPECT_EQ(half.model, map.model);
  expect_near(half.to_frame({100, 240, 300, 340}), {150, 75, 450, 150}, 1e-3f);
  const Letterbox away = moved(map, {4000, 3000}, 2, 0.5, 100, -40);
  EXPECT_EQ(away.frame, (Size{4000, 3000}));
  expect_near(away.to_frame({100, 240, 300, 340}), {700, 110, 1900, 260}, 1e-2f);
}

TEST(Clip, KeepsThePartInside) {
  EXPECT_EQ(clip({-5, -6, 20, 30}, {10, 12}), (Box{0, 0, 10, 12}));
  EXPECT_TRUE(is_empty(clip({-5, 0, -1, 5}, {10, 10})));
  EXPECT_TRUE(is_empty(clip({10, 0, 15, 5}, {10, 10})));
  EXPECT_FALSE(is_empty(clip({9.5f, 0, 15, 5}, {10, 10})));
}

}  // namespace
}  // namespace keepbox
