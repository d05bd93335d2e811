// SPDX-License-Identifier: LGPL-2.1-or-later
// Methods that change scores and boxes, compared with values computed by hand; class limits;
// methods and limits of contracts.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Row;

/// The IoU of the first two is 1/3; the third overlaps the second equally; the fourth has another
/// class.
const std::vector<Row> kBoxes{{0, 0, 20, 10, 0.9f, 0},
                              {10, 0, 30, 10, 0.6f, 0},
                              {20, 0, 40, 10, 0.5f, 0},
                              {0, 0, 20, 10, 0.3f, 1}};

Settings by(NmsMethod method, float iou = 0.3f) {
  Settings settings = test::pixel_settings();
  settings.nms_method = method;
  settings.iou_threshold = iou;
  settings.score_threshold = 0.1f;
  return settings;
}

std::vector<Detection> found(const Settings& settings, const std::vector<Row>& rows = kBoxes) {
  const auto boxes = test::detect(settings, {test::rows(rows).view()});
  EXPECT_TRUE(boxes) << boxes.error().message();
  return boxes.value_or(std::vector<Detection>());
}

void expect_scores(const std::vector<Detection>& boxes, const std::vector<float>& scores) {
  ASSERT_EQ(boxes.size(), scores.size());
  for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(boxes[i].score, scores[i], 1e-6f) << i;
}

TEST(Rescoring, SoftLowersByKeptBoxes) {
  // The second falls to 0.4, below the third, which then lowers it again.
  const auto linear = found(by(NmsMethod::kSoftLinear));
  EXPECT_EQ(test::anchors_of(linear), (std::vector<uint32_t>{0, 2, 3, 1}));
  expect_scores(linear, {0.9f, 0.5f, 0.3f, 0.6f * 4 / 9});
  const float once = std::exp(-1.0f / 9 / 0.5f);
  const auto gaussian = found(by(NmsMethod::kSoftGaussian));
  EXPECT_EQ(test::anchors_of(gaussian), (std::vector<uint32_t>{0, 2, 1, 3}));
  expect_scores(gaussian, {0.9f, 0.5f, 0.6f * once * once, 0.3f});
}

/// Boxes and results of TensorFlow's own test TestSelectFromThreeClustersWithSoftNMS for
/// NonMaxSuppressionV5, in core/kernels/image/non_max_suppression_op_test.cc, multiplied by a
/// hundred.
TEST(Rescoring, SoftByTensorFlowsContractMatchesTensorFlow) {
  Settings settings = by(NmsMethod::kSoftGaussian, 0.5f);
  settings.nms_contract = "tensorflow";
  settings.score_threshold = 0;
  settings.nms_sigma = 0.5f;
  settings.frame.size = settings.model_size = {20'000, 20'000};
  const std::vector<Row> boxes{{0, 10, 100, 110, 0.9f, 0},    {0, 20, 100, 120, 0.75f, 0},
                               {0, 0, 100, 100, 0.6f, 0},     {0, 1010, 100, 1110, 0.95f, 0},
                               {0, 1020, 100, 1120, 0.5f, 0}, {0, 10010, 100, 10110, 0.3f, 0}};
  const auto found_boxes = found(settings, boxes);
  EXPECT_EQ(test::anchors_of(found_boxes), (std::vector<uint32_t>{3, 0, 1, 5, 4, 2}));
  constexpr float kScores[] = {0.95f, 0.9f, 0.384f, 0.3f, 0.256f, 0.197f};
  for (size_t i = 0; i < found_boxes.size(); ++i)
    EXPECT_NEAR(found_boxes[i].score, kScores[i], 1e-2f) << i;
  settings.nms_contract = "exact";
  EXPECT_LT(found(settings, boxes)[3].score, 0.25f) << "the paper has no factor of 2";
}

TEST(Rescoring, SoftDropsBoxesBelowTheirClassThreshold) {
  Settings settings = by(NmsMethod::kSoftLinear);
  settings.score_threshold = 0.28f;
  EXPECT_EQ(test::anchors_of(found(settings)), (std::vector<uint32_t>{0, 2, 3}));
  settings.class_thresholds = {{0, 0.2f}};
  EXPECT_EQ(test::anchors_of(found(settings)), (std::vector<uint32_t>{0, 2, 3, 1}));
}

TEST(Rescoring, MatrixCompensatesSuppressedBoxes) {
  // The second is lowered only by the first. The third by the second, by (1 - 1/3) / (1 - 1/3).
  const auto linear = found(by(NmsMethod::kMatrixLinear));
  EXPECT_EQ(test::anchors_of(linear), (std::vector<uint32_t>{0, 2, 1, 3}));
  expect_scores(linear, {0.9f, 0.5f, 0.4f, 0.3f});
  const auto gaussian = found(by(NmsMethod::kMatrix));
  EXPECT_EQ(test::anchors_of(gaussian), (std::vector<uint32_t>{0, 2, 1, 3}));
  expect_scores(gaussian, {0.9f, 0.5f, 0.6f * std::exp(-1.0f / 9 / 0.5f), 0.3f});
  Settings above = by(NmsMethod::kMatrixLinear);
  above.score_threshold = 0.45f;
  EXPECT_EQ(test::anchors_of(found(above)), (std::vector<uint32_t>{0, 2}));
}

TEST(Rescoring, WeightedAndMergedAreMeans) {
  const auto weighted = found(by(NmsMethod::kWeighted));
  ASSERT_EQ(test::anchors_of(weighted), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_FLOAT_EQ(weighted[0].score, 0.9f);
  EXPECT_FLOAT_EQ(weighted[0].box.x1, 4);   // (.9 * 0 + .6 * 10) / 1.5
  EXPECT_FLOAT_EQ(weighted[1].box.x1, 20);  // the second is merged into the first
  const auto merged = found(by(NmsMethod::kMerge));
  ASSERT_EQ(test::anchors_of(merged), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_FLOAT_EQ(merged[0].box.x1, 4);
  EXPECT_FLOAT_EQ(merged[1].box.x1, (0.6f * 10 + 0.5f * 20) / 1.1f);
}

TEST(Rescoring, NeedsAPositiveSigma) {
  for (const float sigma : {-1.0f, 1e-40f, std::nanf(""), INFINITY}) {
    Settings settings = by(NmsMethod::kMatrix);
    settings.nms_sigma = sigma;
    const auto boxes = test::detect(settings, {test::rows(kBoxes).view()});
    ASSERT_FALSE(boxes) << sigma;
    EXPECT_NE(boxes.error().message().find("nms-sigma"), std::string::npos);
  }
}

TEST(Rescoring, MeanWithoutWeightIsTheBoxItself) {
  Settings settings = by(NmsMethod::kWeighted);
  settings.score_threshold = -1;
  const auto boxes = found(settings, {{0, 0, 20, 10, 0, 0}, {1, 0, 21, 10, 0, 0}});
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].box, (Box{0, 0, 20, 10}));
}

TEST(Rescoring, DiouKeepsBoxesWithDistantCentres) {
  EXPECT_EQ(test::anchors_of(found(by(NmsMethod::kGreedy))), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(test::anchors_of(found(by(NmsMethod::kDiou))), (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(test::anchors_of(found(by(NmsMethod::kDiou, 0.2f))), (std::vector<uint32_t>{0, 2, 3}));
}

const std::vector<Row> kApart{{0, 0, 9, 9, 0.9f, 0},
                              {20, 0, 29, 9, 0.8f, 0},
                              {40, 0, 49, 9, 0.7f, 0},
                              {60, 0, 69, 9, 0.6f, 1},
                              {80, 0, 89, 9, 0.5f, 1}};

TEST(ClassTopK, LimitsClassesBeforeAndAfterSuppression) {
  Settings settings = by(NmsMethod::kAuto);
  settings.class_top_k = 2;
  EXPECT_EQ(test::anchors_of(found(settings, kApart)), (std::vector<uint32_t>{0, 1, 3, 4}));
  settings.max_detections = 3;
  EXPECT_EQ(test::anchors_of(found(settings, kApart)), (std::vector<uint32_t>{0, 1, 3}));
  settings.class_top_k = 0;
  settings.pre_nms_class_top_k = 1;
  EXPECT_EQ(test::anchors_of(found(settings, kApart)), (std::vector<uint32_t>{0, 3}));
  settings.pre_nms_class_top_k = 2;
  settings.pre_nms_top_k = 3;  // of those left by the class limits
  EXPECT_EQ(test::anchors_of(found(settings, kApart)), (std::vector<uint32_t>{0, 1, 3}));
}

/// Returns the plan for rows of a family with or without NMS.
Plan plan_for(const char* contract, NmsMethod method, bool end_to_end, size_t anchors = 8400) {
  Settings settings = test::pixel_settings();
  settings.nms_contract = contract;
  settings.nms_method = method;
  settings.detector = end_to_end ? "yolo26" : "yolov8";
  const test::Tensor tensor{.values = std::vector<float>(anchors * 6),
                            .shape = {1, end_to_end ? anchors : 6, end_to_end ? 6 : anchors}};
  const TensorView view = tensor.view();
  const auto plan = make_plan(settings, {&view, 1});
  EXPECT_TRUE(plan) << plan.error().message();
  return plan.value_or(Plan());
}

TEST(Contracts, DefaultMethodsAreOverriddenBySettings) {
  using enum NmsMethod;
  EXPECT_EQ(plan_for("exact", kAuto, false).rules.method, kGreedy);
  EXPECT_EQ(plan_for("mediapipe", kAuto, false).rules.method, kWeighted);
  EXPECT_EQ(plan_for("tensorrt-pro", kAuto, false).rules.method, kFast);
  EXPECT_EQ(plan_for("mediapipe", kMerge, false).rules.method, kMerge);
  EXPECT_EQ(plan_for("mediapipe", kAuto, true).rules.method, kNone);
}

TEST(Contracts, LimitCandidates) {
  EXPECT_EQ(plan_for("inclusive", NmsMethod::kAuto, false).rules.pre_nms_top_k, 8400u);
  EXPECT_EQ(plan_for("efficientnms", NmsMethod::kAuto, false).rules.pre_nms_top_k, 5000u);
  EXPECT_EQ(plan_for("ultralytics", NmsMethod::kAuto, false, 40000).rules.pre_nms_top_k, 30000u);
}

TEST(Contracts, OffsetClassesUnlessClassAgnostic) {
  const std::vector<Row> same{{0, 0, 9, 9, 0.9f, 0}, {0, 0, 9, 9, 0.8f, 1}};
  Settings settings = by(NmsMethod::kGreedy);
  settings.nms_contract = "ultralytics";
  EXPECT_EQ(found(settings, same).size(), 2u);
  settings.class_agnostic = true;
  EXPECT_EQ(found(settings, same).size(), 1u);
}

TEST(Contracts, CanPreferTheLastAnchor) {
  const std::vector<Row> same{{0, 0, 9, 9, 0.5f, 0}, {0, 0, 9, 9, 0.5f, 0}};
  Settings settings = by(NmsMethod::kGreedy);
  EXPECT_EQ(test::anchors_of(found(settings, same)), (std::vector<uint32_t>{0}));
  settings.nms_contract = "faster-rcnn";
  EXPECT_EQ(test::anchors_of(found(settings, same)), (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace keepbox
