// SPDX-License-Identifier: LGPL-2.1-or-later
// Warnings about implausible settings.
#include "core/plan/lint.h"

#include <gtest/gtest.h>

#include "tests/dense.h"

namespace keepbox {
namespace {

/// Returns the warnings of a plan, one per line.
std::string warnings(const test::Tensor& tensor, const Settings& settings) {
  const TensorView view = tensor.view();
  const auto plan = make_plan(settings, std::span(&view, 1));
  EXPECT_TRUE(plan) << plan.error().message();
  std::string text;
  if (plan)
    for (const Error& each : plan->warnings) text += each.message() + "\n";
  return text;
}

Settings with(auto change) {
  Settings settings = test::pixel_settings();
  change(settings);
  return settings;
}

void expect_one(const std::string& text, const char* word) {
  EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
}

const test::Tensor kPlanes = test::dense({.classes = 6});
const test::Tensor kRows = test::rows({{10, 20, 110, 220, 0.9f, 2}, {300, 300, 340, 380, 0.6f, 7}});

TEST(Lint, AcceptsPlausibleSettings) {
  for (const float threshold : {0.0f, 0.001f, 0.25f, 0.999f})
    for (const char* contract : {"exact", "onnx", "inclusive"})
      for (const auto* tensor : {&kPlanes, &kRows})
        EXPECT_EQ(warnings(*tensor, with([&](Settings& s) {
                    s.score_threshold = threshold;
                    s.nms_contract = contract;
                    s.include_classes = {2, 5};
                    s.class_thresholds = {{1, 2.0f}};  // a filtered class
                  })),
                  "");
  EXPECT_EQ(warnings(kPlanes, with([](Settings& s) {
                       s.class_thresholds = {{1, 1.0f}};  // one of several is switched off
                       s.iou_threshold = 1;
                     })),
            "");
}

TEST(Lint, WarnsAboutThresholdsThatNothingPasses) {
  for (const auto* tensor : {&kPlanes, &kRows}) {
    expect_one(warnings(*tensor, with([](Settings& s) { s.score_threshold = 25; })),
               "score-threshold=25 drops every box");
    expect_one(warnings(*tensor, with([](Settings& s) { s.score_threshold = 1; })), "at most 1");
    expect_one(warnings(*tensor, with([](Settings& s) { s.score_threshold = -0.5f; })),
               "score-threshold=-0.5 lets every anchor pass");
  }
  EXPECT_EQ(warnings(kPlanes, with([](Settings& s) {
                       s.score_threshold = 1;
                       s.nms_contract = "inclusive";  // a score of 1 passes
                     })),
            "");
  EXPECT_EQ(warnings(kPlanes, with([](Settings& s) {
                       s.score_threshold = 25;
                       s.class_thresholds = {{1, 0.5f}};  // all but one class
                     })),
            "");
}

TEST(Lint, TakesThresholdsOfLogitsAsProbabilities) {
  const test::Tensor boxes{std::vector<float>(20 * 4), {1, 20, 4}, ""};
  const test::Tensor scores{std::vector<float>(20 * 3, 8), {1, 20, 3}, ""};
  Settings settings = test::pixel_settings();
  settings.priors.resize(20, {0.5f, 0.5f, 0.2f, 0.2f});
  const TensorView views[] = {boxes.view(), scores.view()};
  EXPECT_TRUE(make_plan(settings, views)->warnings.empty()) << "8 is a logit";
  settings.score_threshold = 4;
  const auto plan = make_plan(settings, views);
  ASSERT_EQ(plan->warnings.size(), 1u);
  settings.score_threshold = 0.25f;
  settings.include_classes = {0, 1};  // the background is not a class
  ASSERT_EQ(make_plan(settings, views)->warnings.size(), 1u);
}

TEST(Lint, WarnsAboutUnknownClasses) {
  expect_one(warnings(kPlanes, with([](Settings& s) { s.include_classes = {2, 6}; })),
             "include-classes names class 6, but the model's classes are 0 to 5");
  expect_one(warnings(kPlanes, with([](Settings& s) { s.exclude_classes = {17}; })),
             "include-classes names class 17");
  expect_one(warnings(kPlanes, with([](Settings& s) { s.class_thresholds = {{9, 0.5f}}; })),
             "class-thresholds names class 9");
  expect_one(warnings(kPlanes, with([](Settings& s) {
                        s.include_classes = {3};
                        s.exclude_classes = {3};
                      })),
             "leaves no class to detect");
  EXPECT_EQ(warnings(kRows, with([](Settings& s) { s.include_classes = {900}; })), "")
      << "rows may have any class";
}

TEST(Lint, WarnsAboutNmsSettingsWithoutNms) {
  expect_one(warnings(kRows, with([](Settings& s) { s.iou_threshold = 0.7f; })),
             "iou-threshold=0.7 has no effect: yolo26 needs no NMS. Set nms-method=");
  EXPECT_EQ(warnings(kRows, with([](Settings& s) {
                       s.iou_threshold = 0.7f;
                       s.nms_method = NmsMethod::kGreedy;
                     })),
            "");
  expect_one(warnings(kPlanes, with([](Settings& s) {
                        s.iou_threshold = 0;
                        s.nms_contract = "inclusive";
                      })),
             "With iou-threshold=0");
  expect_one(warnings(kPlanes, with([](Settings& s) {
                        s.iou_threshold = 0.7f;
                        s.nms_method = NmsMethod::kMatrix;
                      })),
             "by every overlap");
}

TEST(Lint, WarnsAboutImpossibleSizesAndRegions) {
  for (const auto* tensor : {&kPlanes, &kRows}) {
    expect_one(warnings(*tensor, with([](Settings& s) {
                 s.filters = {.min_size = {{9, 9}, {}}, .max_size = {{}, {{2, {20, 8}}}}};
               })),
               "No box of class 2 passes: max-size 20x8 is below min-size 9x9");
    expect_one(warnings(*tensor, with([](Settings& s) {
                 s.filters.regions = {{{0, 0, 9, 9}}, {{640, 0, 700, 9}}};
               })),
               "Region 2 of the regions is outside");
    expect_one(
        warnings(*tensor, with([](Settings& s) { s.filters.excluded = {{{0, 1, 1, 2}, 1}}; })),
        "Region 1 of the excluded regions is outside");
    EXPECT_EQ(warnings(*tensor, with([](Settings& s) {
                s.filters = {.min_size = {{9, 9}, {}},
                             .max_size = {{9, 0}, {{1, {1, 1}}}},
                             .regions = {{{600, 0, 700, 9}}},
                             .excluded = {{{0, 0, 1, 1}, 1}}};
                s.exclude_classes = {1};
              })),
              "");
  }
  expect_one(
      warnings(kPlanes, with([](Settings& s) { s.filters.min_size.of_class = {{9, {1, 1}}}; })),
      "min-size names class 9");
  expect_one(
      warnings(kPlanes, with([](Settings& s) { s.filters.max_size.of_class = {{99, {5, 5}}}; })),
      "max-size names class 99");
}

}  // namespace
}  // namespace keepbox
