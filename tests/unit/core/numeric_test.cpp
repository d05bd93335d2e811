// SPDX-License-Identifier: LGPL-2.1-or-later
// The shared arithmetic against the C library's, and conversions against their definitions.
#include "core/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace keepbox {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Exp, StaysWithinTwoUlpOfTheTruth) {
  for (float x = -87.2f; x < 88.6f; x += 0.0037f) {
    const double truth = std::exp(static_cast<double>(x));
    const float nearest = static_cast<float>(truth);
    const double ulp = std::nextafter(nearest, kInfinity) - nearest;
    ASSERT_LE(std::abs(exp_f32(x) - truth), 2 * ulp) << x;
  }
}

TEST(Exp, IsExactAtZeroAndDefinedEverywhere) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0f);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_EQ(exp_f32(1e30f), kInfinity);
  EXPECT_EQ(exp_f32(-1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(exp_f32(kNan)));
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
  EXPECT_TRUE(std::isnan(sigmoid(kNan)));
}

TEST(Half, ConvertsEveryFiniteValueExactly) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double fraction = bits & 0x3ff;
    const double truth = exponent == 0 ? std::ldexp(fraction, -24)
                                       : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(half_to_float(static_cast<uint16_t>(bits)), truth) << bits;
    ASSERT_EQ(half_to_float(static_cast<uint16_t>(bits | 0x8000)), -truth) << bits;
  }
  EXPECT_EQ(half_to_float(0x7c00), kInfinity);
  EXPECT_EQ(half_to_float(0xfc00), -kInfinity);
  EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
}

TEST(Half, TakesTheNearestAndOfTwoTheEvenOne) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    ASSERT_EQ(float_to_half(value), half);
    ASSERT_EQ(float_to_half(-value), half | 0x8000);
    // What follows the largest one would be 65536.
    const float next = bits == 0x7bff ? 65536.0f : half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = (value + next) / 2;  // exact
    ASSERT_EQ(float_to_half(middle), bits % 2 == 0 ? half : half + 1) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), half) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, kInfinity)), half + 1) << bits;
  }
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(float_to_half(kInfinity), 0x7c00);
  EXPECT_EQ(float_to_half(-kInfinity), 0xfc00);
  EXPECT_EQ(float_to_half(1e30f), 0x7c00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(kNan))));
}

TEST(Bfloat16, IsTheUpperHalf) {
  EXPECT_EQ(bfloat16_to_float(0x3f80), 1.0f);
  EXPECT_EQ(bfloat16_to_float(0xc040), -3.0f);
}

TEST(IsFinite, KnowsWhatIsNot) {
  EXPECT_TRUE(is_finite(0.0f));
  EXPECT_TRUE(is_finite(std::numeric_limits<float>::max()));
  EXPECT_TRUE(is_finite(std::numeric_limits<float>::denorm_min()));
  EXPECT_FALSE(is_finite(kInfinity));
  EXPECT_FALSE(is_finite(-kInfinity));
  EXPECT_FALSE(is_finite(kNan));
}

}  // namespace
}  // namespace keepbox
