// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of oriented boxes compared with brute force in float64, and their plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/scene.h"
#include "tests/unit/core/oriented64.h"

namespace keepbox {
namespace {

using test::Oriented64;
using test::OrientedRow;

Oriented64 of(const OrientedRow& row) { return {row.cx, row.cy, row.w, row.h, row.angle}; }

/// Objects of several boxes each, with distinct scores.
std::vector<OrientedRow> crowd(unsigned seed, int classes) {
  std::mt19937 random(seed);
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  std::vector<OrientedRow> out;
  for (int object = 0; object < 25; ++object) {
    const float x = number(0, 640), y = number(0, 640), w = number(20, 120), h = number(5, 60);
    const float angle = number(-4, 4);
    for (int i = 0; i < 8; ++i)
      out.push_back({x + number(-0.2f, 0.2f) * w, y + number(-0.2f, 0.2f) * h,
                     w * number(0.8f, 1.2f), h * number(0.8f, 1.2f),
                     0.3f + 0.003f * float(out.size()), float(random() % unsigned(classes)),
                     angle + number(-0.3f, 0.3f)});
  }
  std::ranges::shuffle(out, random);
  return out;
}

/// Returns the kept rows. @param all true if suppressed boxes suppress, too. @param clear set to
/// false if an overlap is too close to the threshold.
std::vector<uint32_t> by_force(const std::vector<OrientedRow>& rows, double threshold,
                               double (*overlap)(const Oriented64&, const Oriented64&), bool all,
                               bool& clear) {
  std::vector<uint32_t> order(rows.size()), kept;
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, std::greater(), [&](uint32_t i) { return rows[i].score; });
  for (size_t i = 0; i < order.size(); ++i) {
    const OrientedRow& own = rows[order[i]];
    const auto strikes = [&](uint32_t other) {
      if (rows[other].class_id != own.class_id) return false;
      const double over = overlap(of(rows[other]), of(own));
      clear = clear && std::abs(over - threshold) > 1e-4;
      return over > threshold;
    };
    const std::vector before(order.begin(), order.begin() + static_cast<ptrdiff_t>(i));
    if (std::ranges::none_of(all ? before : kept, strikes)) kept.push_back(order[i]);
  }
  return kept;
}

std::vector<Detection> detected(const std::vector<OrientedRow>& rows, Settings settings) {
  const test::Tensor tensor = test::oriented_rows(rows);
  const auto found = test::detect(settings, {tensor.view()});
  EXPECT_TRUE(found) << found.error().message();
  return found.value_or(std::vector<Detection>());
}

Settings settings_for(const char* contract, NmsMethod method, float threshold = 0.45f) {
  Settings settings = test::pixel_settings();
  settings.nms_contract = contract;
  settings.nms_method = method;
  settings.iou_threshold = threshold;
  return settings;
}

TEST(OrientedNms, MatchesBruteForce) {
  unsigned seen = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto rows = crowd(seed, 3);
    for (const bool all : {false, true}) {
      const NmsMethod method = all ? NmsMethod::kFast : NmsMethod::kGreedy;
      bool clear = true;
      const auto polygon = by_force(rows, 0.45f, test::polygon_iou, all, clear);
      if (clear) {
        EXPECT_EQ(test::anchors_of(detected(rows, settings_for("exact", method))), polygon) << seed;
      }
      bool clear_too = true;
      const auto gaussian = by_force(rows, 0.45f, test::prob_iou, all, clear_too);
      if (clear_too) {
        EXPECT_EQ(test::anchors_of(detected(rows, settings_for("ultralytics-obb", method))),
                  gaussian)
            << seed;
      }
      EXPECT_NE(polygon, gaussian);
      seen += clear && clear_too ? 1 : 0;
    }
  }
  EXPECT_GT(seen, 20u);
}

TEST(OrientedNms, MergesBoxesAndKeepsTheAngleOfTheBest) {
  const std::vector<OrientedRow> rows{{100, 100, 40, 20, 0.8f, 0, 0.5f},
                                      {104, 100, 40, 20, 0.2f, 0, 0.6f}};
  for (const NmsMethod method : {NmsMethod::kWeighted, NmsMethod::kMerge}) {
    Settings settings = settings_for("exact", method, 0.3f);
    settings.score_threshold = 0.1f;
    const auto found = detected(rows, settings);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].angle, 0.5f);
    EXPECT_NEAR(found[0].box.x1, 80.8f, 1e-4);
    EXPECT_NEAR(found[0].box.x2, 120.8f, 1e-4);
  }
}

TEST(OrientedNms, SupportsMethodsThatChangeScores) {
  const std::vector<OrientedRow> rows{{100, 100, 40, 20, 0.8f, 0, 0.5f},
                                      {104, 100, 40, 20, 0.6f, 0, 0.6f}};
  const double over = test::polygon_iou(of(rows[0]), of(rows[1]));
  Settings settings = settings_for("exact", NmsMethod::kSoftGaussian, 0.9f);
  const auto found = detected(rows, settings);
  ASSERT_EQ(found.size(), 1u);
  settings.score_threshold = 0.05f;
  const auto both = detected(rows, settings);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_NEAR(both[1].score, 0.6 * std::exp(-over * over / 0.5), 1e-5);
}

TEST(OrientedPlan, DropsBoxesWithInvalidAngles) {
  const float nan = std::nanf("");
  const auto found =
      detected({{100, 100, 40, 20, 0.8f, 0, nan}, {300, 100, 40, 20, 0.8f, 1, 1e30f}},
               settings_for("auto", NmsMethod::kAuto));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].anchor, 1u);
  EXPECT_EQ(found[0].angle, 1e30f) << "as given by the model";
}

Result<Plan> plan_for(const char* detector, const char* contract = "auto",
                      float threshold = 0.45f) {
  test::Tensor planes{.values = std::vector<float>(20 * 21504), .shape = {1, 20, 21504}, .id = {}};
  Settings settings = settings_for(contract, NmsMethod::kAuto, threshold);
  settings.detector = detector;
  settings.frame.size = {1024, 1024};
  const TensorView view = planes.view();
  return make_plan(settings, {&view, 1});
}

TEST(OrientedPlan, DefaultsToUltralyticsContract) {
  const auto plan = plan_for("yolov8-obb");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->rules.oriented);
  EXPECT_EQ(plan->layout.classes, 15u);
  EXPECT_EQ(plan->rules.contract.name, "ultralytics-obb");
  EXPECT_EQ(plan->rules.contract.oriented, OrientedOverlap::kProbIou);
  EXPECT_EQ(plan->rules.method, NmsMethod::kFast);
  EXPECT_EQ(plan_for("yolov8-obb", "exact")->rules.contract.oriented, OrientedOverlap::kPolygon);
  EXPECT_FALSE(plan_for("yolov8")->rules.oriented);
}

TEST(OrientedPlan, IgnoresRulesOfUprightBoxes) {
  for (const char* name : {"faster-rcnn", "onnx", "opencv"}) {
    const auto plan = plan_for("yolov8-obb", name);
    ASSERT_TRUE(plan);
    const NmsContract& contract = plan->rules.contract;
    EXPECT_FALSE(contract.plus_one || contract.reorder_corners || contract.empty_overlap) << name;
  }
}

TEST(OrientedPlan, ReachGrowsWithLowerThresholds) {
  auto plan = plan_for("yolov8-obb", "auto", 0.9f);
  ASSERT_TRUE(plan);
  const float near = plan->rules.reach;
  Settings lower = settings_for("auto", NmsMethod::kAuto, 0.1f);
  lower.frame.size = {1024, 1024};
  ASSERT_TRUE(retune(*plan, lower));
  EXPECT_GT(plan->rules.reach, 2 * near);
  EXPECT_EQ(plan->rules.reach, plan_for("yolov8-obb", "auto", 0.1f)->rules.reach);
}

}  // namespace
}  // namespace keepbox
