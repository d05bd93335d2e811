// SPDX-License-Identifier: LGPL-2.1-or-later
// Payloads that a plan cannot have.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Tensor;

TEST(Payload, PointsNeedATensorInEveryLevel) {
  Settings settings = test::pixel_settings(64);
  settings.detector = "scrfd";
  std::vector<Tensor> tensors;
  for (const size_t stride : {8, 16, 32}) {
    const size_t anchors = 64 / stride * (64 / stride) * 2;
    const auto add = [&](const char* what, size_t numbers, float value) {
      tensors.push_back({std::vector<float>(anchors * numbers, value),
                         {1, anchors, numbers},
                         what + std::to_string(stride)});
    };
    add("score_", 1, 0.9f);
    add("bbox_", 4, 0.5f);
    if (stride != 16) add("kps_", 10, 0.5f);
  }
  std::vector<TensorView> views;
  for (const Tensor& each : tensors) views.push_back(each.view());
  const auto plan = make_plan(settings, views);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->reads.size(), 6u);
  EXPECT_EQ(plan->payload.keypoints.count, 0u);
}

TEST(Payload, PrototypesHaveALimitOfPixels) {
  Settings settings = test::pixel_settings(64);
  settings.detector = "yolov8-seg";
  settings.num_classes = 1;
  const Tensor rows{.values = std::vector<float>(7), .shape = {1, 7, 1}};
  const std::vector<float> numbers(2ul * 2049 * 2048);
  const auto coefficients_of = [&](size_t height) {
    const Shape shape{1, 2, height, 2048};
    const TensorView views[] = {
        {.data = numbers.data(), .bytes = *shape.count() * 4, .shape = shape}, rows.view()};
    const auto plan = make_plan(settings, views);
    if (!plan) ADD_FAILURE() << plan.error().message();
    return plan ? plan->payload.masks.coefficients : 99u;
  };
  EXPECT_EQ(coefficients_of(2048), 2u);
  EXPECT_EQ(coefficients_of(2049), 0u) << "boxes without masks";
}

TEST(Payload, StaysWithItsBoxBehindOneOutsideOfTheFrame) {
  Settings settings = test::pixel_settings(64);
  settings.detector = "yolov8-pose";
  settings.num_classes = 1;
  Tensor planes{.shape = {1, 11, 3}};  // of three anchors, the best of which is outside
  const auto add = [&](float a, float b, float c) {
    planes.values.insert(planes.values.end(), {a, b, c});
  };
  add(32, -90, 10), add(32, -90, 10), add(8, 8, 8), add(8, 8, 8), add(0.8f, 0.9f, 0.7f);
  for (int point = 0; point < 2; ++point) add(1, 2, 3), add(4, 5, 6), add(0.5f, 0.25f, 0.75f);
  const std::vector<Keypoint> want{{1, 4, 0.5f}, {1, 4, 0.5f}, {3, 6, 0.75f}, {3, 6, 0.75f}};
  for (const NmsMethod method : {NmsMethod::kGreedy, NmsMethod::kWeighted}) {
    settings.nms_method = method;
    auto made = test::make_processor(settings, std::vector{planes.view()});
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(made->run(std::vector{planes.view()}));
    EXPECT_EQ(test::anchors_of(made->detections()), (std::vector<uint32_t>{0, 2}));
    EXPECT_TRUE(std::ranges::equal(made->keypoints(), want));
  }
}

TEST(Payload, MasksHaveALimitOfPixels) {
  Plan plan;
  plan.letterbox.frame = plan.letterbox.model = {2048, 2048};
  plan.payload.masks = {.maps = {2048, 2048}, .coefficients = 1};
  std::vector<Detection> boxes(1100, Detection{.box = {0, 1, 2048, 2048}});
  boxes.back().box = {0, 0, 10, 10};  // fits again
  for (const bool enlarged : {false, true}) {
    plan.payload.masks.enlarged = enlarged;
    plan.letterbox.scale_x = enlarged ? 2 : 1;
    plan.letterbox.frame.width = enlarged ? 4096 : 2048;
    for (Detection& each : boxes) each.box.x2 = each.box.y2 * plan.letterbox.scale_x;
    MaskRects places;
    place_masks(plan, 0, boxes, places);
    EXPECT_LE(places.words, size_t{1} << 25);
    EXPECT_LE(places.sum_count, size_t{1} << 30);
    ASSERT_EQ(places.bits.size(), boxes.size());
    ASSERT_EQ(places.sums.size(), enlarged ? boxes.size() : 0);
    const auto all = [](const MaskRect& place) { return place.count() > 2000 * 2000; };
    EXPECT_EQ(std::ranges::count_if(places.bits, all), enlarged ? 128 : 256);
    EXPECT_NE(places.bits.back().count(), 0u);
    EXPECT_EQ(places.bits[600].count(), 0u);
  }
}

/// A box between two prototype pixels, whose mask has rows without columns.
TEST(Payload, EmptyMasksHaveNoRows) {
  Plan plan;
  plan.letterbox.frame = plan.letterbox.model = {64, 64};
  plan.payload.masks = {.maps = {16, 16}, .coefficients = 1};
  const Detection boxes[] = {{.box = {9, 0, 11, 32}}, {.box = {0, 0, 32, 32}}};
  MaskRects places;
  place_masks(plan, 0, boxes, places);
  EXPECT_EQ(places.bits[0].height, 0u);
  EXPECT_EQ(places.bits[1].offset, 0u);
  EXPECT_EQ(places.words, 8u);
}

}  // namespace
}  // namespace keepbox
