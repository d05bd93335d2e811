// SPDX-License-Identifier: LGPL-2.1-or-later
// The input that tensorinfer makes of a frame, shown by an identity model.
#include <cstring>

#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using onnx_type = test::onnx::Type;
using test::apart;
using test::Buffer;
using test::Fit;
using test::Harness;
using test::identity_model;
using test::noise;
using test::Numbers;
using test::painted;
using test::Pixel;
using test::planes;
using test::raw;
using test::tensor_of;

constexpr int kWidth = 48, kHeight = 32;
constexpr Fit kWhole{kWidth, kHeight, {0, 0, kWidth, kHeight}};
/// Sets R, G, B in 0..1, whatever is assumed for models without metadata.
const std::string kAsIs = "channel-order=rgb input-mean=0 input-std=255 ";

class InferInput : public test::Inference {
 protected:
  /// Returns the input made from a frame by a model of size kWidth x kHeight.
  Numbers input_of(const std::string& caps, GstBuffer* frame, const std::string& props = kAsIs,
                   onnx_type type = onnx_type::kFloat) {
    Harness h(infer(identity_model({1, 3, kHeight, kWidth}, type), props), caps);
    const Buffer out = h.run(frame);
    EXPECT_TRUE(out) << caps << ": " << h.error();
    return tensor_of(out);
  }
};

TEST_F(InferInput, IsThePixelsOfEachRgbFormat) {
  const auto expected = planes(noise, kWidth, kHeight, kWhole);
  for (const char* format : {"RGB", "BGR", "RGBx", "BGRx", "xRGB", "xBGR", "RGBA", "BGRA", "ARGB",
                             "ABGR", "RGBP", "BGRP", "GBR"}) {
    const std::string caps = raw(format, kWidth, kHeight);
    const Numbers input = input_of(caps, painted(caps, noise));
    EXPECT_EQ(input.type, DataType::kFloat32) << format;
    EXPECT_EQ(input.dims, (std::vector<size_t>{1, 3, kHeight, kWidth})) << format;
    EXPECT_LT(apart(input, expected), 0.01f) << format;
  }
}

TEST_F(InferInput, RepeatsGreyThreeTimes) {
  const auto light = [](int x, int y) -> Pixel {
    const auto value = static_cast<uint8_t>(x * 5 + y);
    return {value, value, value};
  };
  const std::string caps = raw("GRAY8", kWidth, kHeight);
  EXPECT_LT(apart(input_of(caps, painted(caps, light)), planes(light, kWidth, kHeight, kWhole)),
            0.01f);
}

/// A coding of Y, U, V.
struct Coding {
  const char* colorimetry;    // in caps
  double red, blue;           // weights in the luma
  double dark, luma, chroma;  // black, and the spans of luma and chroma
};

/// Returns any luma, and chroma that hardly changes between pixels, so that its siting does not
/// matter.
Pixel smooth(int x, int y) {
  return {static_cast<uint8_t>(70 + (x * 37 + y * 11) % 90), static_cast<uint8_t>(112 + x / 2),
          static_cast<uint8_t>(142 - y / 2)};
}

std::vector<float> rgb_of(const test::Paint& yuv, const Coding& coding) {
  std::vector<float> out(3 * kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const Pixel p = yuv(x, y);
      const double luma = (p[0] - coding.dark) * 255 / coding.luma;
      const double cb = (p[1] - 128) * 255 / coding.chroma, cr = (p[2] - 128) * 255 / coding.chroma;
      const double red = luma + 2 * (1 - coding.red) * cr, blue = luma + 2 * (1 - coding.blue) * cb;
      const double green =
          (luma - coding.red * red - coding.blue * blue) / (1 - coding.red - coding.blue);
      float* pixel = out.data() + y * kWidth + x;
      pixel[0] = static_cast<float>(red);
      pixel[kWidth * kHeight] = static_cast<float>(green);
      pixel[2 * kWidth * kHeight] = static_cast<float>(blue);
    }
  return out;
}

TEST_F(InferInput, IsConvertedFromYuvByTheCaps) {
  const Coding codings[] = {{"bt601", 0.299, 0.114, 16, 219, 224},
                            {"bt709", 0.2126, 0.0722, 16, 219, 224},
                            {"1:4:0:0", 0.299, 0.114, 0, 255, 255}};  // JPEG
  for (const char* format : {"NV12", "I420", "YV12", "NV21", "Y42B", "Y444", "YUY2", "UYVY"})
    for (const Coding& coding : codings) {
      const std::string caps =
          raw(format, kWidth, kHeight, std::string(",colorimetry=") + coding.colorimetry);
      EXPECT_LT(apart(input_of(caps, painted(caps, smooth)), rgb_of(smooth, coding)), 2)
          << format << " " << coding.colorimetry;
    }
}

TEST_F(InferInput, IsReadByStridesAndOffsets) {
  const auto expected = planes(noise, kWidth, kHeight, kWhole);
  for (const char* format : {"RGB", "BGRx"}) {
    const std::string caps = raw(format, kWidth, kHeight);
    EXPECT_LT(apart(input_of(caps, painted(caps, noise, 64)), expected), 0.01f) << format;
  }
  for (const char* format : {"NV12", "I420"}) {
    const std::string caps = raw(format, kWidth, kHeight, ",colorimetry=bt601");
    EXPECT_LT(apart(input_of(caps, painted(caps, smooth, 32)),
                    rgb_of(smooth, {"bt601", 0.299, 0.114, 16, 219, 224})),
              2)
        << format;
  }
}

TEST_F(InferInput, FollowsTheResizeMode) {
  struct Case {
    const char* mode;
    int width, height;
    test::Rect place;
  };
  for (const Case& each : {Case{"stretch", 96, 96, {0, 0, 48, 32}},
                           {"letterbox-center", 96, 32, {0, 8, 48, 24}},
                           {"letterbox-center", 64, 128, {16, 0, 32, 32}},
                           {"letterbox-center", 24, 8, {0, 8, 48, 24}},
                           {"letterbox-topleft", 96, 32, {0, 0, 48, 16}},
                           {"letterbox-topleft", 64, 128, {0, 0, 16, 32}},
                           {"letterbox-scaler", 96, 32, {0, 8, 48, 24}},
                           {"letterbox-scaler", 64, 128, {16, 0, 32, 32}},
                           {"crop", 96, 96, {0, -8, 48, 40}},
                           {"crop", 96, 32, {-24, 0, 72, 32}},
                           {"crop", 64, 128, {0, -32, 48, 64}},
                           {"crop", 24, 8, {-24, 0, 72, 32}},
                           {"crop", 96, 64, {0, 0, 48, 32}}}) {
    const std::string caps = raw("RGB", each.width, each.height);
    const Numbers input =
        input_of(caps, painted(caps, noise), kAsIs + "pad-value=114 resize-mode=" + each.mode);
    EXPECT_LT(apart(input, planes(noise, each.width, each.height, {kWidth, kHeight, each.place})),
              0.6f)
        << each.mode << " " << caps;
  }
}

TEST_F(InferInput, IsPaddedWithGreyByDefault) {
  const std::string caps = raw("RGB", 96, 32);
  const Fit fit{kWidth, kHeight, {0, 8, kWidth, 24}};
  const std::string props = kAsIs + "resize-mode=letterbox-center ";
  EXPECT_LT(apart(input_of(caps, painted(caps, noise), props), planes(noise, 96, 32, fit, 114)),
            0.6f);
  EXPECT_LT(apart(input_of(caps, painted(caps, noise), props + "pad-value=0"),
                  planes(noise, 96, 32, fit, 0)),
            0.6f);
}

TEST_F(InferInput, WorksWithOnePixelAndOddSizes) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 7}, {3, 1}, {47, 31}, {49, 33}})
    for (const char* format : {"RGB", "I420", "NV12", "GRAY8"}) {
      const std::string caps = raw(format, width, height);
      const Numbers input =
          input_of(caps, painted(caps, test::grey), kAsIs + "resize-mode=stretch");
      ASSERT_FALSE(input.values.empty()) << caps;
      constexpr size_t kPlane = kWidth * kHeight;
      for (size_t i = 0; i < input.values.size(); ++i)
        ASSERT_EQ(input.values[i], input.values[i / kPlane * kPlane]) << caps;
    }
  const std::string caps = raw("RGB", 47, 31);
  EXPECT_LT(apart(input_of(caps, painted(caps, noise), kAsIs + "resize-mode=stretch"),
                  planes(noise, 47, 31, kWhole)),
            0.6f);
}

TEST_F(InferInput, IsOrderedAndScaledAsSet) {
  const std::string caps = raw("RGB", kWidth, kHeight);
  auto expected = planes(noise, kWidth, kHeight, kWhole);
  constexpr size_t kPlane = kWidth * kHeight;
  EXPECT_LT(
      apart(input_of(caps, painted(caps, noise), "input-mean=0 input-std=1 channel-order=rgb"),
            expected, 1),
      0.01f);
  const float mean[] = {123.675f, 116.28f, 103.53f}, deviation[] = {58.395f, 57.12f, 57.375f};
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = (expected[i] - mean[i / kPlane]) / deviation[i / kPlane];
  const std::string props = "input-mean=123.675,116.28,103.53 input-std=58.395,57.12,57.375 ";
  EXPECT_LT(apart(input_of(caps, painted(caps, noise), props + "channel-order=rgb"), expected, 1),
            1e-3f);
  // mean and deviation stay with their colours
  for (size_t i = 0; i < kPlane; ++i) std::swap(expected[i], expected[2 * kPlane + i]);
  EXPECT_LT(apart(input_of(caps, painted(caps, noise), props + "channel-order=bgr"), expected, 1),
            1e-3f);
}

TEST_F(InferInput, IsHalfFloatsIfTheModelRequiresThem) {
  const std::string caps = raw("RGB", kWidth, kHeight);
  const Numbers input = input_of(caps, painted(caps, noise), kAsIs, onnx_type::kFloat16);
  EXPECT_EQ(input.type, DataType::kFloat16);
  EXPECT_LT(apart(input, planes(noise, kWidth, kHeight, kWhole)), 0.2f) << "eleven bits";
}

TEST_F(InferInput, IsBytesWithChannelsLastIfTheModelRequiresThem) {
  for (const char* format : {"RGB", "BGRx"}) {
    const std::string caps = raw(format, kWidth, kHeight);
    Harness h(
        infer(identity_model({1, kHeight, kWidth, 3}, onnx_type::kUInt8), "channel-order=rgb"),
        caps);
    const Buffer out = h.run(painted(caps, noise));
    ASSERT_TRUE(out) << h.error();
    const Numbers input = tensor_of(out);
    EXPECT_EQ(input.type, DataType::kUInt8);
    EXPECT_EQ(input.dims, (std::vector<size_t>{1, kHeight, kWidth, 3}));
    ASSERT_EQ(input.values.size(), size_t{3} * kWidth * kHeight);
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x)
        for (int c = 0; c < 3; ++c)
          ASSERT_EQ(input.values[static_cast<size_t>((y * kWidth + x) * 3 + c)],
                    noise(x, y)[static_cast<size_t>(c)])
              << x << " " << y;
  }
}

TEST_F(InferInput, IsLumaIfTheModelHasOneChannel) {
  const std::string caps = raw("RGB", kWidth, kHeight);
  Harness h(infer(identity_model({1, 1, kHeight, kWidth}), "input-mean=0 input-std=255"), caps);
  const Buffer out = h.run(painted(caps, noise));
  ASSERT_TRUE(out) << h.error();
  const auto rgb = planes(noise, kWidth, kHeight, kWhole);
  constexpr size_t kPlane = kWidth * kHeight;
  std::vector<float> luma;
  for (size_t i = 0; i < kPlane; ++i)
    luma.push_back(0.299f * rgb[i] + 0.587f * rgb[kPlane + i] + 0.114f * rgb[2 * kPlane + i]);
  EXPECT_LT(apart(tensor_of(out), luma), 0.6f);
}

}  // namespace
}  // namespace keepbox
