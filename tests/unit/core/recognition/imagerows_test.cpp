// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of seven values that begin with the image, rows of which there are none yet, and their
// units.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/core/recognition/patterns.h"

namespace keepbox {
namespace signs {
namespace {

Tensor of_rows(std::vector<float> values, size_t columns) {
  const size_t count = values.size() / columns;
  return {.values = std::move(values), .shape = {count, columns}};
}

void expect_box(const Tensor& tensor, const char* family, const Box& wanted) {
  Settings settings;
  settings.frame.size = {416, 416};
  expect_family({tensor}, family, Basis::kValues, settings);
  const auto found = test::detect(settings, {tensor.view()});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_FALSE(found->empty());
  EXPECT_EQ((*found)[0].class_id, 2u);
  EXPECT_NEAR((*found)[0].box.x1, wanted.x1, 0.01);
  EXPECT_NEAR((*found)[0].box.y2, wanted.y2, 0.01);
}

TEST(ImageRows, AreToldByTheirValues) {
  const Box box{40, 60, 140, 160};
  expect_box(of_rows({0, 2, .9f, 40, 60, 140, 160}, 7), "class-score-rows", box);
  expect_box(of_rows({0, 40, 60, 140, 160, 2, .9f}, 7), "yolov7-end2end", box);
  expect_box(of_rows({0, 40, 60, 140, 160, .9f, 2}, 7), "yolo-nas-flat", box);
  expect_box(of_rows({0, 2, .9f, 40, 60, 140, 160, 0, 7, .5f, 10, 20, 30, 40}, 7),
             "class-score-rows", box);
  expect_box(of_rows({0, 2, .9f, .25f, .25f, .5f, .5f}, 7), "class-score-rows",
             {104, 104, 208, 208});
}

TEST(ImageRows, ThatMayBeSeveralFamiliesListThem) {
  // A score of 1 is as integer as a class.
  const std::string error = error_of({of_rows({0, 1, 1, 2, 3, 1, 1}, 7)});
  EXPECT_FALSE(error.contains("classifier with 7 classes") && error.contains("fits")) << error;
  expect_words(error_of({of_rows({0.5f, -3, 7, 40, 60, 140, 160}, 7)}), {"1x7 float32"});
}

TEST(ImageRows, OfNoObjectsYetDoNotEndAStream) {
  for (const size_t columns : {6, 7}) {
    const Tensor none{.values = {}, .shape = {0, columns}};
    Settings settings;
    settings.frame.size = {416, 416};
    const auto plan = plan_of({none}, settings);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_TRUE(plan->provisional);
    EXPECT_EQ(plan->layout.anchors, 0u);
  }
  EXPECT_FALSE(plan_of({Tensor{.values = {}, .shape = {0, 3}}}));
}

/// The unit is that of objects, whatever the other rows hold.
TEST(Units, WaitForARowAboveTheThreshold) {
  const auto units = [](std::vector<float> values) {
    Tensor tensor = of_rows(std::move(values), 6);
    tensor.shape = {1, tensor.shape[0], 6};
    Settings settings;
    settings.detector = "yolov10";
    settings.frame.size = {640, 640};
    const auto plan = plan_of({tensor}, settings);
    EXPECT_TRUE(plan) << plan.error().message();
    return !plan                               ? "none"
           : plan->provisional                 ? "open"
           : plan->units == Units::kNormalized ? "0..1"
                                               : "pixels";
  };
  EXPECT_STREQ(units({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "open");
  EXPECT_STREQ(units({0, 0, 1, 1, .001f, 3, 0, 0, 2, 2, .1f, 0}), "open");
  EXPECT_STREQ(units({100, 100, 200, 200, .9f, 0, 0, 0, 1, 1, .001f, 3}), "pixels");
  EXPECT_STREQ(units({.1f, .1f, .2f, 1.0056f, .9f, 0, 0, 0, 640, 640, .001f, 3}), "0..1");
}

/// Integers with a scale are as good as the numbers that they stand for.
TEST(Quantised, TensorsAreRecognised) {
  const Tensor real = rows(6300, 85, [](size_t row, size_t column) {
    return column < 4 ? static_cast<float>(row % 200) / 200 : row % 100 == 0 ? 0.5f : 0.01f;
  });
  Tensor stored{
      .shape = {1, 6300, 85}, .type = DataType::kUInt8, .scale = 0.004718276f, .zero_point = 3};
  for (const float value : real.values)
    stored.raw.push_back(static_cast<std::byte>(value / stored.scale + 3));
  Settings settings;
  settings.frame.size = {320, 320};
  expect_family({stored}, "yolov5", Basis::kShape, settings);
  stored.scale = 1;
  stored.zero_point = 0;
  expect_words(error_of({stored}), {"uint8", "set quantization="});
  Tensor below = real;
  below.values[6300 * 5] = -0.014f;
  for (size_t i = 5; i < below.values.size(); i += 85) below.values[i] = -0.014f;
  expect_family({below}, "yolov5", Basis::kShape, settings);
}

}  // namespace
}  // namespace signs
}  // namespace keepbox
