// SPDX-License-Identifier: LGPL-2.1-or-later
// Families of a single tensor, ranked by the hints of their rows.
#include "core/recognition/shapes.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/dense.h"
#include "tests/unit/core/recognition/recognising.h"

namespace keepbox {
namespace {

using test::tensor;

/// Returns the names of the ranked families up to the last that has more evidence than its shape.
std::string ranked(Shape shape, const Request& request = {}) {
  const TensorView view = tensor(shape);
  std::string names;
  for (const FamilyCandidate& each : rank_families({&view, 1}, 0, request))
    if (each.evidence > ShapeEvidence::kFits)
      names += (names.empty() ? "" : ", ") + std::string(each.spec->name);
  return names;
}

std::string chosen(Shape shape, const Request& request = {}) {
  const TensorView view = tensor(shape);
  const auto list = rank_families({&view, 1}, 0, request);
  const FamilyCandidate* best = decided(list);
  return best != nullptr ? std::string(best->spec->name) : "";
}

TEST(Ranking, ComparesGridsThenClasses) {
  EXPECT_EQ(ranked({1, 8400, 33}), "yolox, yolov8, yolov5");
  EXPECT_EQ(ranked({1, 8400, 84}), "yolov8, yolox, yolov5");
  EXPECT_EQ(ranked({1, 8400, 85}), "yolox, yolov8, yolov5");
  EXPECT_EQ(ranked({1, 25200, 84}), "yolov5, yolov8");
  EXPECT_EQ(ranked({1, 25200, 84}, {.frame = {1280, 960}}), "yolov8, yolov5, yolox");
  EXPECT_EQ(ranked({1, 84, 8400}), "yolov8");
  EXPECT_EQ(ranked({1, 300, 6}), "yolov10, yolov5, yolov8");
  EXPECT_EQ(ranked({1, 1, 100, 7}).substr(0, 16), "detection-output");
}

TEST(Ranking, PrefersKnownClassesToPublishedOnes) {
  // 81 classes without objectness, or the 80 of published models with it.
  EXPECT_EQ(chosen({1, 8400, 85}), "yolox");
  EXPECT_EQ(chosen({1, 8400, 85}, {.label_count = 81}), "yolov8");
  EXPECT_EQ(chosen({1, 777, 84}, {.num_classes = 79}), "yolov5");
  EXPECT_EQ(chosen({1, 777, 84}), "yolov8");
  EXPECT_EQ(chosen({1, 8400, 85}, {.label_count = 80, .num_classes = 81}), "yolov8")
      << "the number that is set prevails over labels";
}

TEST(Ranking, GivesTheReason) {
  const auto why = [](Shape shape, const Request& request = {}) {
    const TensorView view = tensor(shape);
    return rank_families({&view, 1}, 0, request).at(0).why;
  };
  EXPECT_EQ(why({1, 25200, 84}), "3 anchors per cell");
  EXPECT_EQ(why({1, 777, 84}), "80 classes, as in COCO");
  EXPECT_EQ(why({1, 777, 84}, {.num_classes = 79}), "79 classes as set");
  EXPECT_EQ(why({1, 777, 84}, {.label_count = 79}), "79 labels");
  EXPECT_EQ(why({1, 33, 8400}), "channels before the anchors of a grid");
}

TEST(Ranking, DecidesOnlyForOneFamilyOfARank) {
  for (const Shape& shape : {Shape{1, 8400, 33}, Shape{1, 777, 20}, Shape{1, 56, 8400}})
    EXPECT_EQ(chosen(shape), "") << shape.to_string();
  EXPECT_EQ(chosen({1, 25200, 85}), "yolov5");
  EXPECT_EQ(chosen({1, 25200, 85}, {.frame = {1280, 960}}), "") << "a grid of both";
  EXPECT_EQ(chosen({1, 1001, 6}), "");
  EXPECT_EQ(chosen({1, 1000, 6}), "yolov10");
}

/// Integers with a scale are as good as the numbers that they stand for; others are none.
TEST(Ranking, DecidesForScaledIntegers) {
  for (const Shape& shape : {Shape{1, 25200, 85}, Shape{1, 8400, 84}, Shape{1, 300, 6}}) {
    TensorView view = tensor(shape);
    EXPECT_NE(chosen(shape), "") << shape.to_string();
    view.type = DataType::kUInt8, view.scale = 0.5f;
    const auto integers = rank_families({&view, 1}, 0, {});
    ASSERT_NE(decided(integers), nullptr) << shape.to_string();
    EXPECT_EQ(decided(integers)->spec->name, chosen(shape));
    view.scale = 1;
    EXPECT_TRUE(rank_families({&view, 1}, 0, {}).empty()) << shape.to_string();
  }
}

TEST(Ranking, ListsInItsOrder) {
  EXPECT_EQ(candidates_of(tensor({1, 8400, 33}), {}).families,
            "yolox (28 classes), yolov8 (29 classes), yolov5 (28 classes)");
  EXPECT_EQ(candidates_of(tensor({1, 56, 8400}), {}).families,
            "yolov8 (52 classes), yolox (51 classes), yolov8-pose (1 class, 17 keypoints), "
            "yolov5 (51 classes)");
  EXPECT_EQ(candidates_of(tensor({1, 3, 4}), {}).families, "");
}

TEST(Ranking, ErrorsGroupTheInputsOfFamilies) {
  const TensorView rows = tensor({1, 8400, 33});
  const auto several = undecided({&rows, 1}, {});
  EXPECT_NE(several.error().hint.find("letterbox-center for yolov8, yolov5"), std::string::npos)
      << several.error().hint;
  // Values rule yolox out, and the other families have the same input.
  const test::Tensor decoded = test::dense({.anchors = 300, .classes = 53, .rows = true});
  const TensorView view = decoded.view();
  const auto alike = undecided({&view, 1}, {});
  EXPECT_NE(alike.error().found.find("fits yolov5 (52 classes), yolov8 (53 classes)"),
            std::string::npos)
      << alike.error().found;
  EXPECT_NE(alike.error().hint.find("resize-mode=letterbox-center for yolov5, yolov8)"),
            std::string::npos)
      << alike.error().hint;
}

TEST(Ranking, ErrorsNameTheInputOfTheOnlyFamily) {
  const test::Tensor pose = test::dense({.payload = 51, .number = test::keypoint});
  const TensorView view = pose.view();
  const auto only = undecided({&view, 1}, {});
  const std::string& hint = only.error().hint;
  EXPECT_TRUE(hint.starts_with("set detector=yolov8-pose if the model is of that family")) << hint;
  EXPECT_NE(hint.find("input-std=255 resize-mode=letterbox-center for yolov8-pose"),
            std::string::npos)
      << hint;
  EXPECT_FALSE(hint.contains("num-classes=")) << "it would not decide: " << hint;
}

}  // namespace
}  // namespace keepbox
