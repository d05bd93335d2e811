// SPDX-License-Identifier: LGPL-2.1-or-later
// Shared arithmetic compared with the C library, and conversions compared with their definitions.
#include "core/formula/numeric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/scene.h"

namespace keepbox {
namespace {

TEST(Exp, StaysWithinTwoUlpOfTheTruth) {
  for (float x = -87.2f; x < 88.6f; x += 0.0037f) {
    const double truth = std::exp(static_cast<double>(x));
    const float nearest = static_cast<float>(truth);
    const double ulp = std::nextafter(nearest, test::kInfinity) - nearest;
    ASSERT_LE(std::abs(exp_f32(x) - truth), 2 * ulp) << x;
  }
}

TEST(Exp, IsExactAtZeroAndDefinedEverywhere) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-test::kInfinity), 0.0f);
  EXPECT_EQ(exp_f32(test::kInfinity), test::kInfinity);
  EXPECT_EQ(exp_f32(1e30f), test::kInfinity);
  EXPECT_EQ(exp_f32(-1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(exp_f32(test::kNan)));
}

TEST(Sigmoid, IsMonotoneAndBounded) {
  float last = 0;
  for (float x = -100; x <= 100; x += 0.01f) {
    const float y = sigmoid(x);
    ASSERT_GE(y, 0.0f);
    ASSERT_LE(y, 1.0f);
    ASSERT_GE(y, last - 1e-7f) << x;
    last = y;
  }
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
  EXPECT_TRUE(std::isnan(sigmoid(test::kNan)));
}

/// Returns the distance from the exact value in floats.
double ulps(float found, double truth) {
  const float nearest = std::abs(static_cast<float>(truth));
  return std::abs(found - truth) / (std::nextafter(nearest, test::kInfinity) - nearest);
}

TEST(Log, StaysWithinTwoUlpOfTheTruth) {
  for (float x = 1e-44f; x < 3e38f; x = std::max(x * 1.0007f, std::nextafter(x, test::kInfinity)))
    ASSERT_LE(ulps(log_f32(x), std::log(static_cast<double>(x))), 2) << x;
  for (float x = 0.6f; x < 1.6f; x += 1.3e-5f)
    ASSERT_LE(ulps(log_f32(x), std::log(static_cast<double>(x))), 2) << x;
  EXPECT_EQ(log_f32(1.0f), 0.0f);
  EXPECT_EQ(log_f32(0.0f), -test::kInfinity);
  EXPECT_EQ(log_f32(test::kInfinity), test::kInfinity);
  EXPECT_TRUE(std::isnan(log_f32(-1.0f)) && std::isnan(log_f32(test::kNan)));
}

TEST(SinCos, AreAccurate) {
  for (float x = -7; x < 7; x += 0.00037f) {
    const SinCos found = sin_cos_f32(x);
    if (x > -3 && x < 3) {
      ASSERT_LE(ulps(found.sin, std::sin(double{x})), 2) << x;
    }
    ASSERT_NEAR(found.cos, std::cos(double{x}), 1e-7) << x;
  }
  for (float x = -16384; x <= 16384; x += 0.0713f) {
    const SinCos found = sin_cos_f32(x);
    const double within = x > -1e4f && x < 1e4f ? 1e-7 : 3e-7;
    ASSERT_NEAR(found.sin, std::sin(double{x}), within) << x;
    ASSERT_NEAR(found.cos, std::cos(double{x}), within) << x;
  }
}

TEST(SinCos, AreExactAtZeroAndDefinedEverywhere) {
  for (const float x : {0.0f, 16385.0f, -1e30f, test::kInfinity, test::kNan}) {
    EXPECT_EQ(sin_cos_f32(x).sin, 0.0f) << x;
    EXPECT_EQ(sin_cos_f32(x).cos, 1.0f) << x;
  }
}

TEST(Atan2, StaysWithinThreeUlpOfTheTruth) {
  for (double turn = -3.1415; turn < 3.1415; turn += 0.00021)
    for (const double length : {1e-20, 0.3, 1.0, 4e4, 1e30}) {
      const auto y = static_cast<float>(length * std::sin(turn));
      const auto x = static_cast<float>(length * std::cos(turn));
      ASSERT_LE(ulps(atan2_f32(y, x), std::atan2(double{y}, double{x})), 3) << turn;
    }
  EXPECT_EQ(atan2_f32(0, 0), 0.0f);
  EXPECT_EQ(atan2_f32(0, 5), 0.0f);
  EXPECT_NEAR(atan2_f32(0, -5), M_PI, 1e-6);
  EXPECT_NEAR(atan2_f32(-5, 0), -M_PI / 2, 1e-6);
}

TEST(Half, ConvertsEveryFiniteValueExactly) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double fraction = bits & 0x3ff;
    const double truth =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(half_to_float(static_cast<uint16_t>(bits)), truth) << bits;
    ASSERT_EQ(half_to_float(static_cast<uint16_t>(bits | 0x8000)), -truth) << bits;
  }
  EXPECT_EQ(half_to_float(0x7c00), test::kInfinity);
  EXPECT_EQ(half_to_float(0xfc00), -test::kInfinity);
  EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
}

TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    ASSERT_EQ(float_to_half(value), half);
    ASSERT_EQ(float_to_half(-value), half | 0x8000);
    // The successor of the largest one would be 65536.
    const float next = bits == 0x7bff ? 65536.0f : half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = (value + next) / 2;  // exact
    ASSERT_EQ(float_to_half(middle), bits % 2 == 0 ? half : half + 1) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), half) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, test::kInfinity)), half + 1) << bits;
  }
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(float_to_half(test::kInfinity), 0x7c00);
  EXPECT_EQ(float_to_half(-test::kInfinity), 0xfc00);
  EXPECT_EQ(float_to_half(1e30f), 0x7c00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(test::kNan))));
}

TEST(Bfloat16, IsTheUpperHalf) {
  EXPECT_EQ(bfloat16_to_float(0x3f80), 1.0f);
  EXPECT_EQ(bfloat16_to_float(0xc040), -3.0f);
}

TEST(IsFinite, IsFalseForNanAndInfinity) {
  EXPECT_TRUE(is_finite(0.0f));
  EXPECT_TRUE(is_finite(std::numeric_limits<float>::max()));
  EXPECT_TRUE(is_finite(std::numeric_limits<float>::denorm_min()));
  EXPECT_FALSE(is_finite(test::kInfinity));
  EXPECT_FALSE(is_finite(-test::kInfinity));
  EXPECT_FALSE(is_finite(test::kNan));
}

}  // namespace
}  // namespace keepbox
