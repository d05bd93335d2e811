// SPDX-License-Identifier: LGPL-2.1-or-later
// Corners and class scores in one tensor, and other families with values that look alike.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/dense.h"
#include "tests/unit/core/recognition/patterns.h"

namespace keepbox {
namespace signs {
namespace {

using test::dense;

/// YOLOv8's planes with corners instead of centres and sizes. @param width of the input.
Tensor corners(size_t classes, bool as_rows, float width = 640, size_t anchors = 8400) {
  std::mt19937 random(5);
  Tensor out{.values = std::vector<float>((4 + classes) * anchors),
             .shape = as_rows ? Shape{1, anchors, 4 + classes} : Shape{1, 4 + classes, anchors}};
  const auto at = [&](size_t anchor, size_t channel) -> float& {
    return out.values[as_rows ? anchor * (4 + classes) + channel : channel * anchors + anchor];
  };
  for (size_t anchor = 0; anchor < anchors; ++anchor) {
    for (const size_t i : {0, 1}) at(anchor, i) = uniform_number(random, 0, width * 0.8f);
    for (const size_t i : {2, 3})
      at(anchor, i) = at(anchor, i - 2) + uniform_number(random, width / 160, width / 8);
    for (size_t i = 0; i < classes; ++i) at(anchor, 4 + i) = uniform_number(random, 0, 0.02f);
  }
  for (const size_t i : {0, 1, 2, 3}) at(100, i) = std::array{100, 120, 180, 300}[i] * width / 640;
  at(100, 4) = 0.9f;
  return out;
}

Settings of_640() {
  Settings settings;
  settings.frame.size = {640, 640};
  return settings;
}

TEST(Corners, AreRecognisedInPlanesAndRows) {
  for (const size_t classes : {1, 2, 80})
    for (const bool as_rows : {false, true})
      for (const float width : {640.0f, 1.0f}) {
        const Tensor tensor = corners(classes, as_rows, width);
        expect_family({tensor}, "yolo-corners", Basis::kValues, of_640());
        const auto found = test::detect(of_640(), {tensor.view()});
        ASSERT_TRUE(found) << found.error().message();
        ASSERT_EQ(found->size(), 1u);
        EXPECT_NEAR((*found)[0].box.x1, 100, 1e-3);
        EXPECT_NEAR((*found)[0].box.y2, 300, 1e-3);
      }
}

TEST(Corners, AreNotSeenInCentresAndSizes) {
  expect_family({dense({.classes = 80})}, "yolov8", Basis::kShape, of_640());
  // Few boxes may have sizes above their centres.
  Tensor large = dense({.anchors = 20, .classes = 10});
  for (size_t i = 0; i < large.values.size(); ++i)
    if (i < 4 * 20) large.values[i] = i < 2 * 20 ? 100.0f : 150.0f;
  Settings settings;
  settings.detector = "yolov8";
  const auto plan = plan_of({large}, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->warnings.empty()) << plan->warnings[0].message();
}

TEST(Corners, ContradictAFamilyOfCentres) {
  Settings settings = of_640();
  settings.detector = "yolov9";
  const auto set = plan_of({corners(2, false)}, settings);
  ASSERT_TRUE(set) << set.error().message();
  ASSERT_EQ(set->warnings.size(), 1u);
  expect_words(set->warnings[0].message(), {"centres and sizes for yolov9", "corners"});
  settings.detector = "auto";
  settings.declared_detector = "yolov8";
  const auto declared = plan_of({corners(2, false)}, settings);
  ASSERT_FALSE(declared);
  expect_words(declared.error().message(), {"centres and sizes", "fits yolo-corners (2 classes)"});
}

TEST(Corners, AreContradictedByCentres) {
  Settings settings = of_640();
  settings.detector = "yolo-corners";
  const auto plan = plan_of({dense({.classes = 80})}, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->warnings.size(), 1u);
  expect_words(plan->warnings[0].message(), {"box corners for yolo-corners"});
}

/// Boxes of background may be anything, but those of most rows are in order.
TEST(Corners, MayBeReversedInAQuarterOfTheRows) {
  Settings settings = of_640();
  settings.detector = "yolo-corners";
  constexpr size_t kAnchors = 8400;
  for (const size_t reversed : {size_t{0}, kAnchors / 4, kAnchors / 4 + 1}) {
    Tensor tensor = corners(2, false, 640, kAnchors);
    for (size_t i = 0; i < reversed; ++i) {
      const size_t anchor = kAnchors - 1 - i;
      std::swap(tensor.values[anchor], tensor.values[2 * kAnchors + anchor]);
    }
    const auto plan = plan_of({tensor}, settings);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->warnings.size(), reversed > kAnchors / 4 ? 1u : 0u) << reversed;
  }
}

/// Cells of two strides with sigmoids of three anchors each, as YOLO-FastestV2 writes them.
Tensor sigmoids(size_t cells) {
  std::mt19937 random(6);
  return rows(cells, 95, [&](size_t, size_t column) {
    return column < 12   ? uniform_number(random, 0.4f, 0.6f)
           : column < 15 ? 0.003f
                         : uniform_number(random, 0, 0.02f);
  });
}

TEST(Queries, AreNoGrid) {
  Settings settings;
  settings.frame.size = {352, 352};
  const auto grid = plan_of({sigmoids(22 * 22 + 11 * 11)}, settings);
  ASSERT_FALSE(grid) << grid->remark;
  EXPECT_FALSE(grid.error().message().contains("fits")) << grid.error().message();
  expect_family({sigmoids(300)}, "rtdetr-ultralytics", Basis::kValues, settings);
}

/// 15 classes and an angle of 0.3 everywhere: as a score it would be one of a 16th class.
Tensor turned(bool as_rows) {
  test::Dense want{.anchors = 21504, .classes = 15, .payload = 1, .rows = as_rows};
  want.number = [](size_t, std::mt19937&) { return 0.3f; };
  Tensor out = dense(want);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const size_t channel = as_rows ? i % 20 : i / 21504, anchor = as_rows ? i / 20 : i % 21504;
    if (channel >= 4 && channel < 19) out.values[i] = anchor == 700 && channel == 6 ? 0.9f : 0.01f;
  }
  return out;
}

TEST(Angles, AreNoClass) {
  Settings settings;
  settings.frame.size = {1024, 1024};
  for (const bool as_rows : {false, true}) {
    const auto plan = plan_of({turned(as_rows)}, settings);
    ASSERT_FALSE(plan) << plan->remark;
    expect_words(plan.error().message(), {"yolov8-obb (15 classes, an angle)"});
    EXPECT_FALSE(plan.error().message().contains("pose")) << plan.error().message();
  }
  settings.detector = "yolov8";
  const auto set = plan_of({turned(false)}, settings);
  ASSERT_TRUE(set) << set.error().message();
  ASSERT_EQ(set->warnings.size(), 1u);
  expect_words(set->warnings[0].message(), {"last score"});
}

/// A last class whose score is high in all rows says nothing where an objectness multiplies it, nor
/// in the rows of queries.
TEST(Angles, AreNotSeenWhereScoresOfMostRowsMeanNothing) {
  for (const auto& [family, objectness, count] :
       {std::tuple("yolov5", true, size_t{25200}), {"rtdetr-ultralytics", false, size_t{300}}}) {
    Settings settings = of_640();
    settings.detector = family;
    std::mt19937 random(7);
    const size_t scores = objectness ? 5 : 4, last = scores + 15;
    const Tensor tensor = rows(count, last + 1, [&](size_t, size_t column) {
      if (column < 4) return uniform_number(random, 0.2f, 0.4f) * (objectness ? 640 : 1);
      return column == last ? 0.3f : 0.01f;
    });
    const auto plan = plan_of({tensor}, settings);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_TRUE(plan->warnings.empty()) << family << ": " << plan->warnings[0].message();
  }
}

}  // namespace
}  // namespace signs
}  // namespace keepbox
