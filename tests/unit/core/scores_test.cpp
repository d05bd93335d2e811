// SPDX-License-Identifier: LGPL-2.1-or-later
// Scores of unusual values.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "core/model/detector.h"
#include "tests/unit/core/hosts.h"

namespace keepbox {
namespace {

TEST(Scores, OfOneClassAreTheObjectnessWhateverTheClassIs) {
  constexpr size_t kRows = 252, kColumns = 6;  // a picture of 64x64
  test::Tensor rows{std::vector<float>(kRows * kColumns), {1, kRows, kColumns}, "output"};
  const auto set = [&](size_t row, std::initializer_list<float> values) {
    std::ranges::copy(values, rows.values.begin() + row * kColumns);
  };
  set(5, {20, 20, 8, 8, 0.9f, test::kNan});
  set(9, {40, 40, 8, 8, 0.8f, -1});
  Settings settings = test::pixel_settings(64);
  settings.model_size = {64, 64};
  settings.detector = "yolov7";
  const auto boxes = test::detect(settings, {rows.view()});
  ASSERT_TRUE(boxes) << boxes.error().message();
  EXPECT_EQ(test::anchors_of(*boxes), (std::vector<uint32_t>{5, 9}));
  for (const Detection& box : *boxes) EXPECT_EQ(box.class_id, 0u);
  EXPECT_EQ(boxes->at(0).score, 0.9f);
  EXPECT_EQ(boxes->at(1).score, 0.8f);
}

/// e^88.5 is above the largest power of two of a float.
TEST(Scores, AreTheSameBelowTheSmallestNormalNumber) {
  constexpr size_t kRows = 252, kColumns = 7;
  test::Tensor rows{std::vector<float>(kRows * kColumns), {1, kRows, kColumns}, "output"};
  for (size_t row = 0; row < kRows; ++row) {
    const float logit = -88.0f - 0.8f * static_cast<float>(row) / kRows;
    std::ranges::copy(std::initializer_list<float>{32, 32, 8, 8, 3, logit - 1, logit},
                      rows.values.begin() + static_cast<ptrdiff_t>(row * kColumns));
  }
  auto spec = std::make_shared<DetectorSpec>(*find_detector("yolov5"));
  spec->activation = Activation::kSigmoid;
  Settings settings = test::pixel_settings(64);
  settings.model_size = {64, 64};
  settings.family = spec;
  settings.score_threshold = 0;
  settings.max_detections = 1000;
  settings.nms_method = NmsMethod::kNone;
  const TensorView view = rows.view();
  std::vector<float> expected;
  test::on_each_host(settings, view, [&](Processor& processor, auto name) {
    std::vector<float> scores;
    for (const Detection& box : processor.detections()) scores.push_back(box.score);
    if (expected.empty()) expected = scores;
    EXPECT_EQ(scores, expected) << name;
    EXPECT_GT(scores.size(), kRows / 2) << name;
  });
}

}  // namespace
}  // namespace keepbox
