// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that a model is tried with, in the layouts of inputs.
#include "gst/infer/onnx/openbatch.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/formula/numeric.h"

namespace keepbox {
namespace {

constexpr Size kSize{80, 48};

/// Returns a value of a picture. @param channel of R, G, B.
float value_of(const std::vector<std::byte>& data, const InputForm& input, size_t picture,
               uint32_t x, uint32_t y, size_t channel) {
  const size_t place = input.bgr ? 2 - channel : channel, pixel = size_t{y} * kSize.width + x;
  const size_t at =
      input.channels_last ? pixel * 3 + place : place * kSize.width * kSize.height + pixel;
  return load({.data = data.data(), .type = input.type},
              picture * kSize.width * kSize.height * 3 + at);
}

TEST(TriedPictures, AreInTheLayoutAndRangeOfTheInput) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kUInt8})
    for (const bool last : {false, true})
      for (const bool bgr : {false, true}) {
        InputForm input{.size = kSize, .type = type, .channels_last = last, .bgr = bgr};
        if (type != DataType::kUInt8) {
          input.mean = {10, 20, 30};
          input.deviation = {2, 4, 5};
        }
        std::vector<std::byte> data(kTriedPictures * input.bytes());
        draw_tried(data, input);
        for (size_t c = 0; c < 3; ++c) {
          const auto expected = [&](int byte) {
            return (static_cast<float>(byte) - input.mean[c]) / input.deviation[c];
          };
          EXPECT_NEAR(value_of(data, input, 1, 79, 47, c), expected(0), 0.02);
          EXPECT_NEAR(value_of(data, input, 2, 40, 40, c), expected(c == 0 ? 255 : 0), 0.1);
          EXPECT_NEAR(value_of(data, input, 2, 70, 40, c), expected(c == 2 ? 255 : 0), 0.1);
          EXPECT_NEAR(value_of(data, input, 3, 0, 0, c), expected(255), 0.1);
        }
        EXPECT_NE(value_of(data, input, 0, 1, 0, 0), value_of(data, input, 0, 2, 0, 0));
      }
}

}  // namespace
}  // namespace keepbox
