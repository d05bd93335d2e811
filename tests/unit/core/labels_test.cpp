// SPDX-License-Identifier: LGPL-2.1-or-later
// Several classes per anchor, and unusual layouts of anchors or columns.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "core/recognition/fit.h"
#include "core/reference/backend.h"
#include "tests/unit/core/hosts.h"

namespace keepbox {
namespace {

test::Tensor all_pass(size_t anchors, size_t classes) {
  test::Tensor out{.shape = {1, 4 + classes, anchors}};
  out.values.assign((4 + classes) * anchors, 0.9f);
  return out;
}

TEST(Labels, LimitClassesToTheirCapacity) {
  const test::Tensor tensor = all_pass(525, 20);
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings(160);
  settings.detector = "yolov8";
  settings.multi_label = true;
  settings.include_classes = {3};
  auto processor = test::make_processor(settings, {&view, 1});
  ASSERT_TRUE(processor) << processor.error().message();
  settings.include_classes = {3, 4};
  EXPECT_FALSE(processor->retune(settings));
  ASSERT_TRUE(processor->run({&view, 1}));
  EXPECT_EQ(processor->funnel().after_class_filter, 525u);
  settings.include_classes = {7};
  ASSERT_TRUE(processor->retune(settings));
  ASSERT_TRUE(processor->run({&view, 1}));
  EXPECT_EQ(processor->funnel().after_class_filter, 525u);
}

TEST(Labels, PassEvenIfTheBestClassDoesNot) {
  // With a negative objectness, possible at a negative threshold, the best class has the lowest
  // product.
  test::Tensor tensor{.shape = {1, 8, 336}};
  for (const float number : {20.0f, 20.0f, 10.0f, 10.0f, -1.0f, 2.0f, 0.5f, -0.5f})
    tensor.values.insert(tensor.values.end(), 336, number);
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings(128);
  settings.detector = "yolox-decoded";
  settings.score_threshold = -1.5f;
  settings.multi_label = true;
  test::on_each_host(settings, view, [](Processor& processor, auto name) {
    EXPECT_EQ(processor.funnel().above_threshold, 672u) << name;
  });
}

TEST(Labels, DefaultIsDroppedIfThereAreTooMany) {
  const TensorView views[] = {{.shape = {1, 193374, 4}}, {.shape = {1, 193374, 91}}};
  Settings settings;
  settings.detector = "retinanet";
  settings.frame.size = {1344, 768};
  const auto layout = fit(*find_detector("retinanet"), views, {});
  ASSERT_TRUE(layout);
  settings.multi_label = true;
  const std::vector<float> boxes(193374 * 4), scores(193374ul * 91, -9.0f);
  const TensorView full[] = {
      {.data = boxes.data(), .bytes = boxes.size() * 4, .shape = {1, 193374, 4}},
      {.data = scores.data(), .bytes = scores.size() * 4, .shape = {1, 193374, 91}}};
  EXPECT_FALSE(make_plan(settings, full));
  settings.multi_label = {};
  const auto plan = make_plan(settings, full);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_FALSE(plan->rules.multi_label);
  EXPECT_FALSE(plan->warnings.empty());
}

TEST(Anchors, OfTensorFlowsSsdScaleWithTheInput) {
  const std::vector<float> boxes(2034 * 4), scores(2034 * 91, -9.0f);
  const TensorView views[] = {
      {.data = boxes.data(), .bytes = boxes.size() * 4, .shape = {1, 2034, 4}},
      {.data = scores.data(), .bytes = scores.size() * 4, .shape = {1, 2034, 91}}};
  Settings settings = test::pixel_settings(320);
  settings.detector = "ssd";
  const auto plan = make_plan(settings, views);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_NEAR(plan->priors[0].width, 0.1, 1e-6);
}

TEST(RowColumns, MayHaveTheBoxAfterTheScores) {
  auto family = std::make_shared<DetectorSpec>(*find_detector("yolov5"));
  family->columns = {.objectness = 0, .classes = 1, .box_last = true};
  family->coding = BoxCoding::kCorners;
  family->strides = {};
  const test::Tensor tensor{.values = {0.9f, 0.1f, 0.8f, 0.1f, 10, 20, 110, 220,  //
                                       0, 0, 0, 0, 0, 0, 0, 0},
                            .shape = {1, 2, 8}};
  Settings settings = test::pixel_settings(320);
  settings.family = family;
  const auto found = test::detect(settings, {tensor.view()});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].box, (Box{10, 20, 110, 220}));
  EXPECT_EQ((*found)[0].class_id, 1u);
}

/// Rows of a level whose three anchors each run through all cells, as in one tensor of all levels.
TEST(PyramidLevels, RowsFollowTheFamilysAnchorOrder) {
  std::vector<test::Tensor> levels;
  test::Tensor whole{.shape = {1, 6300, 6}};
  for (const size_t side : {40, 20, 10}) {
    test::Tensor& level = levels.emplace_back();
    level.shape = {1, 3 * side * side, 6};
    level.values.assign(3 * side * side * 6, -9.0f);
    float* row = level.values.data() + (side * side + 7) * 6;  // anchor 1 of cell 7
    for (size_t i = 0; i < 6; ++i) row[i] = i < 4 ? 0.1f : 4.0f;
    whole.values.insert(whole.values.end(), level.values.begin(), level.values.end());
  }
  Settings settings = test::pixel_settings(320);
  settings.detector = "yolov5-heads";
  const auto one = test::detect(settings, {whole.view()});
  const auto three = test::detect(settings, {levels[0].view(), levels[1].view(), levels[2].view()});
  ASSERT_TRUE(one && three);
  ASSERT_EQ(one->size(), 3u);
  ASSERT_EQ(three->size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ((*one)[i].box, (*three)[i].box) << i;
}

/// A range of anchors may begin after the first levels.
TEST(PyramidLevels, AreDecodedInRanges) {
  std::vector<test::Tensor> levels;
  std::vector<TensorView> views;
  for (const size_t side : {40, 20, 10}) {
    test::Tensor& level = levels.emplace_back();
    level.shape = {1, 3 * side * side, 6};
    level.values.assign(3 * side * side * 6, -9.0f);
    for (size_t i = 0; i < 6; ++i) level.values[i] = i < 4 ? 0.1f : 4.0f;  // anchor 0
  }
  for (const test::Tensor& level : levels) views.push_back(level.view());
  Settings settings = test::pixel_settings(320);
  settings.detector = "yolov5-heads";
  const auto plan = make_plan(settings, views);
  ASSERT_TRUE(plan) << plan.error().message();
  const auto found = [&](AnchorRange anchors) {
    std::vector<Candidate> out(plan->rules.candidates);
    Funnel funnel;
    const uint32_t count = reference::decode(*plan, views, 0, anchors, out, funnel);
    return std::pair(count, funnel.anchors);
  };
  EXPECT_EQ(found({0, 6300}), std::pair(3u, 6300u));
  EXPECT_EQ(found({4800, 6300}), std::pair(2u, 1500u));
  EXPECT_EQ(found({6000, 6001}), std::pair(1u, 1u));
  EXPECT_EQ(found({4801, 6000}), std::pair(0u, 1199u));
}

}  // namespace
}  // namespace keepbox
