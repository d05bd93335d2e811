// SPDX-License-Identifier: LGPL-2.1-or-later
// Colours of boxes: distinct for every kind of colour vision, the same in every run.
#include "gst/overlay/colors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace keepbox {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

constexpr Matrix kNormal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
// On linear RGB; Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
// Color Vision Deficiency" (IEEE TVCG 15, 2009), severity 1.
constexpr Matrix kProtanopia{{{0.152286, 1.052583, -0.204868},
                              {0.114503, 0.786281, 0.099216},
                              {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia{{{0.367322, 0.860646, -0.227968},
                                {0.280085, 0.672501, 0.047413},
                                {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritanopia{{{1.255528, -0.076749, -0.178779},
                              {-0.078411, 0.930809, 0.147602},
                              {0.004733, 0.691367, 0.303900}}};
// Ottosson, "A perceptual color space for image processing" (2020).
constexpr Matrix kCones{{{0.4122214708, 0.5363325363, 0.0514459929},
                         {0.2119034982, 0.6806995451, 0.1073969566},
                         {0.0883024619, 0.2817188376, 0.6299787005}}};
constexpr Matrix kOklab{{{0.2104542553, 0.7936177850, -0.0040720468},
                         {1.9779984951, -2.4285922050, 0.4505937099},
                         {0.0259040371, 0.7827717662, -0.8086757660}}};

Triple times(const Matrix& m, const Triple& v) {
  Triple out{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 3; ++k) out[i] += m[i][k] * v[k];
  return out;
}

double linear(uint8_t v) {
  const double c = v / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

/// Returns the colour in OKLab, as seen with that vision.
Triple seen(Rgb color, const Matrix& vision) {
  Triple light = times(vision, {linear(color.r), linear(color.g), linear(color.b)});
  for (double& v : light) v = std::clamp(v, 0.0, 1.0);
  Triple cones = times(kCones, light);
  for (double& v : cones) v = std::cbrt(v);
  return times(kOklab, cones);
}

double distance(Rgb a, Rgb b, const Matrix& vision) {
  const Triple p = seen(a, vision), q = seen(b, vision);
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

/// Returns the smallest difference over all kinds of vision. About 0.02 is just noticeable.
double least(Rgb a, Rgb b) {
  double out = 1;
  for (const Matrix& vision : {kNormal, kProtanopia, kDeuteranopia, kTritanopia})
    out = std::min(out, distance(a, b, vision));
  return out;
}

FrameBox classed(uint32_t number, GQuark model = 0) { return {.class_id = number, .model = model}; }
FrameBox named(const char* label) { return {.label = g_quark_from_string(label)}; }

TEST(Palette, AdjacentColoursDifferForColourBlindViewers) {
  const auto colors = palette();
  for (size_t i = 0; i < colors.size(); ++i)
    EXPECT_GT(least(colors[i], colors[(i + 1) % colors.size()]), 0.2) << i;
}

TEST(Palette, FirstEightDifferForColourBlindViewers) {
  const auto colors = palette();
  for (size_t i = 0; i < 8; ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_GT(least(colors[i], colors[k]), 0.075) << i << "," << k;
}

TEST(Palette, AllDiffer) {
  const auto colors = palette();
  ASSERT_GE(colors.size(), 32u);
  for (size_t i = 0; i < colors.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      EXPECT_GT(distance(colors[i], colors[k], kNormal), 0.08) << i << "," << k;
  EXPECT_EQ(std::ranges::count(colors, kUntracked), 0);
}

TEST(Colors, FollowTheClassId) {
  Colors colors;
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(colors.of(classed(i), ColorBy::kClass), palette()[i % palette().size()]);
  FrameBox named_too = classed(3);
  named_too.label = g_quark_from_string("whatever");
  EXPECT_EQ(colors.of(named_too, ColorBy::kClass), palette()[3]) << "the id takes precedence";
  colors.of(classed(G_MAXUINT32), ColorBy::kClass);
}

TEST(Colors, FollowTheNameWithoutAnId) {
  EXPECT_EQ(Colors().of(named("person"), ColorBy::kClass), palette()[27]);
  EXPECT_EQ(Colors().of(named("car"), ColorBy::kClass), palette()[31]);
  Colors colors;
  colors.of(FrameBox{}, ColorBy::kClass);
  std::set<std::array<uint8_t, 3>> different;
  for (const char* label : {"person", "car", "bicycle", "motorcycle", "bus", "truck", "train",
                            "boat", "dog", "cat", "bird", "horse", "face"}) {
    const Rgb color = colors.of(named(label), ColorBy::kClass);
    EXPECT_TRUE(different.insert({color.r, color.g, color.b}).second) << label;
  }
}

TEST(Colors, DifferForTheSameIdOfTwoModels) {
  const std::array models{
      g_quark_from_string("colors-test-persons"), g_quark_from_string("colors-test-faces"),
      g_quark_from_string("colors-test-plates"), g_quark_from_string("colors-test-shoes")};
  Colors colors;
  std::vector<std::vector<Rgb>> all;
  for (const GQuark model : models) {
    all.emplace_back();
    for (uint32_t i = 0; i < 40; ++i)
      all.back().push_back(colors.of(classed(i, model), ColorBy::kClass));
  }
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(all[0][i], palette()[i % palette().size()]) << "the first model starts the palette";
    EXPECT_GT(least(all[0][i], all[1][i]), 0.15) << i;
    for (size_t m = 0; m < models.size(); ++m) {
      EXPECT_EQ(colors.of(classed(i, models[m]), ColorBy::kClass), all[m][i]) << "stable";
      for (size_t n = 0; n < m; ++n) EXPECT_NE(all[m][i], all[n][i]) << i;
    }
  }
  EXPECT_EQ(Colors().of(classed(2, models[3]), ColorBy::kClass), palette()[2]) << "a single model";
}

TEST(Colors, SupportAsManyModelsAsColours) {
  Colors colors;
  std::set<std::array<uint8_t, 3>> different;
  for (size_t m = 0; m < palette().size(); ++m) {
    const GQuark model = g_quark_from_string(("colors-test-" + std::to_string(m)).c_str());
    const Rgb color = colors.of(classed(1, model), ColorBy::kClass);
    EXPECT_TRUE(different.insert({color.r, color.g, color.b}).second) << m;
  }
}

TEST(Colors, FollowTrackingIdOrModel) {
  Colors colors;
  FrameBox box = classed(5, g_quark_from_string("colors-test-persons"));
  EXPECT_EQ(colors.of(box, ColorBy::kTrackingId), kUntracked);
  box.tracking_id = 2;
  EXPECT_EQ(colors.of(box, ColorBy::kTrackingId), palette()[2]);
  box.tracking_id = G_MAXUINT64;
  colors.of(box, ColorBy::kTrackingId);
  EXPECT_EQ(colors.of(box, ColorBy::kModel), palette()[0]);
  box.model = g_quark_from_string("colors-test-faces");
  EXPECT_EQ(colors.of(box, ColorBy::kModel), palette()[1]);
  EXPECT_EQ(colors.of(classed(5), ColorBy::kModel), palette()[2]);
  box.tracking_id = 2;
  EXPECT_EQ(colors.of(box, ColorBy::kTrackingId), palette()[10]) << "of another object with id 2";
}

TEST(Colors, TextHasContrast) {
  const auto luminance = [](Rgb c) {
    return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
  };
  std::vector<Rgb> backgrounds(palette().begin(), palette().end());
  for (uint32_t i = 0; i < 4096; ++i) backgrounds.push_back(rgb(i * 4099));
  for (const Rgb color : backgrounds) {
    const double a = luminance(color) + 0.05, b = luminance(text_color(color)) + 0.05;
    EXPECT_GT(std::max(a, b) / std::min(a, b), 4.5);
    const auto [red, green, blue] = text_color(color);
    EXPECT_TRUE((red == 0 || red == 255) && red == green && red == blue);
  }
}

}  // namespace
}  // namespace keepbox
