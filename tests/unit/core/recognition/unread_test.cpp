// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that a family leaves unread, levels that a model lacks, and backgrounds.
#include "core/recognition/value_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/recognition/maps.h"
#include "tests/unit/core/recognition/patterns.h"

namespace keepbox {
namespace signs {
namespace {

/// Scores and bins of levels of a square input. At column and row 10 of the second level is an
/// object of class 16, three strides to each side of its cell.
std::vector<Tensor> binned(std::initializer_list<uint32_t> strides, uint32_t side = 320) {
  std::vector<Tensor> out;
  for (const uint32_t stride : strides) {
    const size_t cells = level_cells({side, side}, stride).width;
    const size_t hot = stride == 16 ? 10 * cells + 10 : cells * cells;
    out.push_back(rows(cells * cells, 80, [&](size_t row, size_t column) {
      return row == hot && column == 16 ? 0.9f : 0.01f;
    }));
    out.push_back(rows(cells * cells, 32,
                       [](size_t, size_t column) { return column % 8 == 3 ? 20.0f : 0.0f; }));
  }
  return out;
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.view());
  return out;
}

void expect_object(const std::vector<Tensor>& tensors, const Settings& settings,
                   const Box& wanted) {
  const auto found = test::detect(settings, views_of(tensors));
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  const Box& box = (*found)[0].box;
  EXPECT_EQ((*found)[0].class_id, 16u);
  EXPECT_NEAR(box.x1, wanted.x1, 0.01);
  EXPECT_NEAR(box.y1, wanted.y1, 0.01);
  EXPECT_NEAR(box.x2, wanted.x2, 0.01);
  EXPECT_NEAR(box.y2, wanted.y2, 0.01);
}

TEST(Levels, ThreeOfBinsAreNanodets) {
  Settings settings;
  settings.frame.size = {320, 320};
  const std::vector<Tensor> three = binned({8, 16, 32});
  expect_family(three, "nanodet", Basis::kValues, settings);
  expect_object(three, settings, {120, 120, 216, 216});
  expect_family(binned({8, 16, 32, 64}), "picodet", Basis::kValues, settings);
}

TEST(Levels, TheLastOneMayBeAbsent) {
  Settings settings;
  settings.detector = "picodet";
  for (const Size frame : {Size{320, 320}, Size{1280, 720}}) {
    settings.frame.size = frame;
    settings.model_size = {320, 320};
    const auto plan = plan_of(binned({8, 16, 32}), settings);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->levels.size(), 3u);
    EXPECT_TRUE(plan->warnings.empty()) << plan->warnings[0].message();
  }
  settings.frame.size = {320, 320};
  expect_object(binned({8, 16, 32}), settings, {120, 120, 216, 216});
  EXPECT_FALSE(plan_of(binned({8, 16}), settings));
}

/// NanoDet-Plus with three strides in one tensor: 3549 rows of a score and bins.
TEST(Levels, OfOneTensorFollowFromItsRows) {
  const size_t hot = 52 * 52 + 13 * 26 + 13;  // the cell at column and row 13 of stride 16
  const Tensor tensor = rows(3549, 33, [&](size_t row, size_t column) {
    if (column == 0) return row == hot ? 0.9f : 0.01f;
    return (column - 1) % 8 == 2 ? 20.0f : 0.0f;
  });
  Settings settings;
  settings.detector = "nanodet-plus";
  for (const Size frame : {Size{416, 416}, Size{832, 832}}) {
    settings.frame.size = frame;
    const auto found = test::detect(settings, {tensor.view()});
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->size(), 1u);
    const float zoom = static_cast<float>(frame.width) / 416;
    EXPECT_NEAR((*found)[0].box.x1, 176 * zoom, 0.01);
    EXPECT_NEAR((*found)[0].box.y2, 240 * zoom, 0.01);
  }
}

/// A family of which half of the tensors are no part.
TEST(Unread, TensorsAreEvidence) {
  const std::vector<Tensor> tensors = binned({8, 16, 32});
  Settings settings;
  settings.frame.size = {320, 320};
  settings.detector = "yolox";
  const auto plan = plan_of(tensors, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  const auto about = [](const Error& each) { return each.message().contains("does not read"); };
  EXPECT_EQ(std::ranges::count_if(plan->warnings, about), 1);
  EXPECT_TRUE(belong_together({1, 1600, 80}, {1, 1600, 32}));
  EXPECT_TRUE(belong_together({1, 1600, 80}, {1, 400, 80})) << "another level";
  EXPECT_TRUE(belong_together({1, 80, 40, 40}, {1, 32, 40, 40}));
  EXPECT_FALSE(belong_together({1, 84, 8400}, {1, 7}));
  EXPECT_FALSE(belong_together({1, 84, 8400}, {1, 300, 6}));
  EXPECT_FALSE(belong_together({1, 116, 8400}, {1, 32, 160, 160}));
}

/// Boxes in 0..1, scores, classes that are no integers, and their count: no boxes with one class.
TEST(Unread, ListsOfTheSameLengthAreEvidence) {
  const auto list = [](float value) {
    Tensor out = rows(1, 100, [&](size_t, size_t column) { return column < 20 ? value : 0.01f; });
    out.shape = {1, 100};
    return out;
  };
  const auto corner = [](size_t row, size_t column) {
    return column < 2 ? static_cast<float>(row) / 200 : 0.9f;
  };
  const Tensor count{.values = {20}, .shape = {1}};
  const auto plan = plan_of({rows(100, 4, corner), list(0.9f), list(0.5f), count});
  EXPECT_FALSE(plan) << plan->remark;
  const auto alone = plan_of({rows(100, 4, corner), list(0.9f)});
  ASSERT_TRUE(alone) << alone.error().message();
  EXPECT_EQ(alone->spec->name, "yolov4");
}

Tensor named(const char* id, Tensor tensor) {
  tensor.id = id;
  return tensor;
}

/// Priors of a RetinaFace of 640x640, one of which is an object. @param points values of each.
std::vector<Tensor> with_landmarks(size_t points) {
  const size_t hot = 2 * (40 * 80 + 40) + 1;
  return {named("loc", rows(16800, 4, [](size_t, size_t) { return 0.0f; })),
          named("conf", rows(16800, 2,
                             [&](size_t row, size_t column) {
                               return (row == hot) == (column == 1) ? 0.98f : 0.02f;
                             })),
          named("landms", rows(16800, points, [](size_t, size_t column) {
                  return column % 2 == 0 ? 1.0f : -1.0f;
                }))};
}

TEST(Unread, FourCornersAreNoFivePoints) {
  Settings settings;
  settings.frame.size = {640, 640};
  expect_family(with_landmarks(10), "retinaface", Basis::kNamed, settings);
  const std::vector<Tensor> plate = with_landmarks(8);
  expect_family(plate, "retinaface-plates", Basis::kNamed, settings);
  const auto found = test::detect(settings, views_of(plate));
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_NEAR((*found)[0].box.x1, 324 - 24, 0.01) << "an anchor of 48 pixels";
  settings.detector = "retinaface";
  const auto set = plan_of(plate, settings);
  ASSERT_TRUE(set) << set.error().message();
  ASSERT_EQ(set->warnings.size(), 1u);
  expect_words(set->warnings[0].message(), {"retinaface does not read landms"});
}

/// OpenCV's detector of license plates: points and corners in one tensor, two scores and an IoU.
TEST(Unread, QuadsOfPlatesAreNoFamily) {
  const size_t count = 4300;
  const auto zero = [](size_t, size_t) { return 0.2f; };
  const std::string error =
      error_of({named("loc", rows(count, 14, zero)), named("conf", rows(count, 2, zero)),
                named("iou", rows(count, 1, zero))});
  expect_words(error, {"loc", "detector="});
  EXPECT_FALSE(error.contains("yunet") || error.contains("retinaface")) << error;
}

/// UltraFace's scores of background and face, and boxes by a formula.
template <class Number>
std::vector<Tensor> faces(size_t count, Number number) {
  return {named("scores", rows(count, 2,
                               [](size_t row, size_t column) {
                                 return (row == 2000) == (column == 1) ? 0.98f : 0.02f;
                               })),
          named("boxes", rows(count, 4, number))};
}

std::vector<Tensor> faces_in_corners() {
  return faces(4420, [](size_t row, size_t column) {
    if (row == 2000) return column < 2 ? 0.25f : 0.5f;
    const float corner = static_cast<float>(row % 100) / 125;
    return column < 2 ? corner : corner + 0.1f;
  });
}

TEST(Backgrounds, TellUltraFaceFromFamiliesWithoutOne) {
  Settings settings;
  settings.frame.size = {640, 480};
  const std::vector<Tensor> tensors = faces_in_corners();
  expect_family(tensors, "ultraface", Basis::kValues, settings);
  const auto found = test::detect(settings, views_of(tensors));
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].class_id, 1u);
  EXPECT_NEAR((*found)[0].box.x1, 160, 0.01);
  EXPECT_NEAR((*found)[0].box.y2, 240, 0.01);
}

TEST(Backgrounds, ContradictFamiliesThatAreSet) {
  Settings settings;
  settings.frame.size = {640, 480};
  const auto warning_of = [&](const char* detector) {
    settings.detector = detector;
    const auto plan = plan_of(faces_in_corners(), settings);
    EXPECT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->warnings.size(), 1u) << detector;
    return plan->warnings.empty() ? "" : plan->warnings[0].message();
  };
  expect_words(warning_of("yolov4"), {"scores without a background for yolov4"});
  expect_words(warning_of("yolo-nas"), {"yolo-nas", "background"});
}

TEST(Backgrounds, BoxesBelowAPixelAreFractions) {
  Settings settings;
  settings.frame.size = {640, 480};
  settings.detector = "yolo-nas";
  std::vector<Tensor> tensors = faces_in_corners();
  for (float& score : tensors[0].values) score /= 2;
  const auto plan = plan_of(tensors, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->warnings.size(), 1u);
  expect_words(plan->warnings[0].message(), {"boxes in pixels for yolo-nas", "0..1"});
}

/// Deltas of UltraFace, whose picture is no square.
TEST(Backgrounds, TellUltraFacesDeltas) {
  const auto tensors = faces(
      4420, [](size_t row, size_t column) { return row % 2 == 0 && column < 2 ? -1.0f : 1.0f; });
  Settings settings;
  for (const Size frame : {Size{320, 240}, Size{1920, 1080}}) {
    settings.frame.size = frame;
    expect_family(tensors, "ultraface-raw", Basis::kValues, settings);
  }
}

}  // namespace
}  // namespace signs
}  // namespace keepbox
