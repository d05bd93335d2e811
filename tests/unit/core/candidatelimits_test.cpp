// SPDX-License-Identifier: LGPL-2.1-or-later
// Limits of candidates for methods that compare pairs, and the warning for frames with more.
#include <gtest/gtest.h>

#include "core/plan/limits.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

constexpr uint32_t kCrowded = 25'200;

/// Boxes of one class that do not touch each other.
test::Tensor boxes_apart() {
  std::vector<test::Row> rows;
  for (uint32_t i = 0; i < kCrowded; ++i) {
    const auto x = static_cast<float>(i % 160 * 4), y = static_cast<float>(i / 160 * 4);
    rows.push_back({x, y, x + 2, y + 2, 0.9f - 1e-5f * static_cast<float>(i), 0});
  }
  return test::rows(rows);
}

Settings settings_by(NmsMethod method, uint32_t max_detections = 300) {
  Settings settings = test::pixel_settings();
  settings.nms_method = method;
  settings.max_detections = max_detections;
  return settings;
}

Plan plan_by(const Settings& settings) {
  static const test::Tensor kBoxes = boxes_apart();
  const TensorView view = kBoxes.view();
  const auto plan = make_plan(settings, {&view, 1});
  EXPECT_TRUE(plan) << plan.error().message();
  return plan.value_or(Plan());
}

uint32_t taken(const Settings& settings) { return plan_by(settings).rules.pre_nms_top_k; }

TEST(CandidateLimits, ExactMethodsHaveNone) {
  for (const NmsMethod method :
       {NmsMethod::kGreedy, NmsMethod::kNone, NmsMethod::kBitmask, NmsMethod::kSegmented}) {
    EXPECT_EQ(taken(settings_by(method, kCrowded)), kCrowded);
    EXPECT_FALSE(plan_by(settings_by(method, kCrowded)).has_ceiling);
  }
}

TEST(CandidateLimits, LimitMethodsThatCompareAllPairs) {
  for (const NmsMethod method : {NmsMethod::kFast, NmsMethod::kMatrix, NmsMethod::kMatrixLinear}) {
    EXPECT_EQ(taken(settings_by(method, 1)), 16'384u);
    EXPECT_TRUE(plan_by(settings_by(method, 1)).has_ceiling);
  }
}

TEST(CandidateLimits, LimitMethodsThatCompareWithKeptBoxes) {
  using enum NmsMethod;
  constexpr std::pair<NmsMethod, uint32_t> kAll[] = {{kDiou, 16'384},
                                                     {kSoftLinear, 11'585},
                                                     {kSoftGaussian, 11'585},
                                                     {kWeighted, 11'585},
                                                     {kMerge, 8'192}};
  for (const auto& [method, limit] : kAll) {
    EXPECT_EQ(taken(settings_by(method, kCrowded)), limit);
    EXPECT_EQ(taken(settings_by(method, 0)), kCrowded);
    EXPECT_EQ(taken(settings_by(method)), kCrowded) << "300 are kept, which is nothing";
    Settings of_classes = settings_by(method, kCrowded);
    of_classes.class_top_k = 1;  // of 2,048 possible classes of ready rows
    EXPECT_EQ(taken(of_classes), method == kMerge ? (1u << 25) / 2'048 + 1'024 : kCrowded);
  }
  // 2^25 pairs: 2,000 kept boxes with each other and with all others.
  EXPECT_EQ(taken(settings_by(kMerge, 2'000)), (1u << 25) / 2'000 + 1'000);
}

TEST(CandidateLimits, YieldToSettingsAndToLowerLimitsOfContracts) {
  Settings settings = settings_by(NmsMethod::kMatrix);
  for (const uint32_t set : {100u, 20'000u, 1'000'000u}) {
    settings.pre_nms_top_k = set;
    EXPECT_EQ(taken(settings), std::min(set, kCrowded));
    EXPECT_FALSE(plan_by(settings).has_ceiling);
  }
  settings.pre_nms_top_k = 0;
  settings.nms_contract = "efficientnms";
  EXPECT_EQ(taken(settings), 5'000u);
  EXPECT_FALSE(plan_by(settings).has_ceiling);
}

TEST(CandidateLimits, AreLowerForOrientedBoxes) {
  const test::Tensor tensor{.values = std::vector<float>(size_t{kCrowded} * 7),
                            .shape = {1, 7, kCrowded}};
  const TensorView view = tensor.view();
  const auto of = [&](NmsMethod method, uint32_t max_detections) {
    Settings settings = settings_by(method, max_detections);
    settings.detector = "yolov8-obb";
    settings.nms_contract = "exact";
    const auto plan = make_plan(settings, {&view, 1});
    EXPECT_TRUE(plan) << plan.error().message();
    return plan ? std::pair(plan->rules.pre_nms_top_k, plan->has_ceiling) : std::pair(0u, false);
  };
  EXPECT_EQ(of(NmsMethod::kFast, 300), std::pair(5'792u, true));
  EXPECT_EQ(of(NmsMethod::kWeighted, kCrowded), std::pair(4'096u, true));
  for (const NmsMethod method : {NmsMethod::kMatrix, NmsMethod::kMatrixLinear})
    EXPECT_EQ(of(method, 300), std::pair(4'096u, true)) << "by Gaussians 1.2 s for 5,792";
  // Exact methods too, whose pairs of upright boxes are cheap.
  for (const NmsMethod method : {NmsMethod::kGreedy, NmsMethod::kBitmask, NmsMethod::kSegmented}) {
    EXPECT_EQ(of(method, kCrowded), std::pair(5'792u, true));
    EXPECT_EQ(of(method, 1'000).first, (1u << 24) / 1'000 + 500);
    EXPECT_EQ(of(method, 300).second, false) << "56,000 are more than there are";
  }
}

/// Returns the warning for a frame with the boxes of boxes_apart().
std::optional<Error> warning_of(const Settings& settings) {
  const Plan plan = plan_by(settings);
  const test::Tensor boxes = boxes_apart();
  const TensorView view = boxes.view();
  auto processor = Processor::create(plan, {find_backend("reference"), ""});
  EXPECT_TRUE(processor && processor->run({&view, 1}));
  const Funnel& funnel = processor->funnel();
  return ceiling_reached(plan, funnel.after_class_filter, funnel.after_top_k);
}

TEST(CandidateLimits, WarnAboutFramesWithMoreCandidates) {
  Settings settings = settings_by(NmsMethod::kFast, 10);
  const auto warning = warning_of(settings);
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->what.find("best 16384 of 25200 candidates"), std::string::npos)
      << warning->message();
  EXPECT_NE(warning->hint.find("nms-method="), std::string::npos);
  settings.pre_nms_class_top_k = 16'383;  // leaves fewer
  EXPECT_FALSE(warning_of(settings));
  settings.pre_nms_class_top_k = 0;
  const float score = 0.9f - 1e-5f * 16'384 + 5e-6f;  // the first 16,384 pass
  settings.score_threshold = score;
  EXPECT_FALSE(warning_of(settings));
  settings.score_threshold = score - 1e-5f;
  EXPECT_TRUE(warning_of(settings));
  settings.score_threshold = 0.25f;
  settings.pre_nms_top_k = 100;
  EXPECT_FALSE(warning_of(settings)) << "no warning about an explicit setting";
}

}  // namespace
}  // namespace keepbox
