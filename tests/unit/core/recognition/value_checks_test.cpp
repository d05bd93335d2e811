// SPDX-License-Identifier: LGPL-2.1-or-later
// Values that confirm or contradict a family, and payloads of any size.
#include "core/recognition/value_checks.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/dense.h"

namespace keepbox {
namespace {

using test::dense;
using test::Dense;
using test::Tensor;

Result<Plan> plan_of(const std::vector<Tensor>& tensors, Settings settings = {}) {
  if (settings.frame.size.width == 0) settings.frame.size = {640, 640};
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return make_plan(settings, views);
}

std::string error_of(const Tensor& tensor, const Settings& settings = {}) {
  const auto plan = plan_of({tensor}, settings);
  EXPECT_FALSE(plan) << plan->remark;
  return plan ? "" : plan.error().message();
}

void expect_words(const std::string& text, std::initializer_list<const char*> present,
                  std::initializer_list<const char*> absent = {}) {
  for (const char* word : present) EXPECT_NE(text.find(word), std::string::npos) << text;
  for (const char* word : absent) EXPECT_EQ(text.find(word), std::string::npos) << text;
}

const Dense kSegmentation{.payload = 32};
const Dense kOriented{.classes = 15, .payload = 1, .number = test::angle};

TEST(ValueChecks, RejectMaskCoefficientsAsScores) {
  for (const bool rows : {false, true}) {
    Dense masks = kSegmentation;
    masks.rows = rows;
    Settings settings;
    settings.label_count = rows ? 33 : 0;  // without labels, rows of 37 are ambiguous
    expect_words(error_of(dense(masks), settings), {"scores in 0..1", "yolov8 (33 classes)"});
  }
  expect_words(error_of(dense(kSegmentation)),
               {"1x37x8400", "which fits yolov8-seg (1 class, 32 mask coefficients):", "detector="},
               {"yolov5", "yolox", "pose", "angle"});
}

TEST(ValueChecks, RejectAnglesAsScores) {
  expect_words(error_of(dense(kOriented)), {"yolov8-obb (15 classes, an angle)"},
               {"yolov5", "yolox", "pose", "seg"});
  Dense rows = kOriented;
  rows.rows = true;
  expect_words(error_of(dense(rows)), {"yolov8-obb (15 classes, an angle)"},
               {"yolov5", "yolox", "pose", "seg"});
}

TEST(ValueChecks, IdentifyKeypoints) {
  Dense pose{.payload = 51, .number = test::keypoint};
  expect_words(error_of(dense(pose)), {"which fits yolov8-pose (1 class, 17 keypoints):"},
               {"yolov5", "yolov8 (", "seg"});
  pose.rows = true;
  expect_words(error_of(dense(pose)), {"1x8400x56", "yolov8-pose (1 class, 17 keypoints)"},
               {"yolov5", "yolox", "yolov8 (", "seg", "angle"});
  pose.rows = false;
  pose.payload = 15;
  expect_words(error_of(dense(pose)), {"yolov8-pose (1 class, 5 keypoints) with num-classes=1"},
               {"yolov5", "seg", "angle"});
}

TEST(ValueChecks, RejectLogits) {
  Tensor logits = dense({.classes = 80});
  for (size_t i = 4 * 8400; i < logits.values.size(); ++i) logits.values[i] = -9;
  expect_words(error_of(logits), {"scores in 0..1 for yolov8 (80 classes)"}, {"which fits"});
}

TEST(ValueChecks, RejectAFamilyKnownById) {
  Tensor tensor = dense(kSegmentation);
  tensor.id = "yolo-v8-out";
  expect_words(error_of(tensor), {"yolov8-seg (1 class, 32 mask coefficients)"});
}

TEST(ValueChecks, RejectEndToEndRowsWithFractionalClasses) {
  Tensor tensor = dense({.anchors = 300, .classes = 2, .rows = true});
  expect_words(error_of(tensor), {"integer class ids for yolov10"});
}

TEST(ValueChecks, AllowRoundingOfTheirType) {
  Tensor tensor = dense({.classes = 80});
  tensor.values[8400 * 50] = 1.0009766f;  // successor of 1 in half precision
  tensor.values[8400 * 51] = -0.004f;
  EXPECT_TRUE(plan_of({tensor}));
  tensor.values[8400 * 50] = 1.12f;
  EXPECT_FALSE(plan_of({tensor}));
  tensor.values[8400 * 50] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(plan_of({tensor}));
}

TEST(ValueChecks, OnlyWarnAboutAnExplicitDetector) {
  Settings settings;
  settings.detector = "yolov8";
  const auto plan = plan_of({dense(kSegmentation)}, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->layout.classes, 33u);
  ASSERT_EQ(plan->warnings.size(), 1u);
  expect_words(plan->warnings[0].message(), {"scores in 0..1", "yolov8 (33 classes)", "detector="});
}

TEST(ValueChecks, AreCheckedAgainAfterBlankFrames) {
  Tensor blank = dense(kSegmentation);
  std::ranges::fill(blank.values, 0.0f);
  const auto plan = plan_of({blank});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->provisional);
  EXPECT_TRUE(plan->warnings.empty());
  // A frame with boxes but without other values yet: the kept boxes are checked.
  Tensor half = dense(kSegmentation);
  std::fill(half.values.begin() + 4 * 8400, half.values.end(), 0.0f);
  const auto settled = plan_of({half});
  ASSERT_TRUE(settled);
  EXPECT_FALSE(settled->provisional);
  EXPECT_TRUE(check_best_score(settled->layout, 1.005f));
  const auto later = check_best_score(settled->layout, 8.9f);
  ASSERT_FALSE(later);
  expect_words(later.error().message(), {"scores in 0..1", "yolov8 (33 classes)"});
}

TEST(ValueChecks, DistinguishTheFormsOfYolox) {
  Settings settings;
  settings.frame.size = {416, 416};
  Tensor raw = dense({.anchors = 3549, .classes = 81, .rows = true});
  for (size_t i = 0; i < raw.values.size(); ++i)
    if (i % 85 < 4) raw.values[i] = raw.values[i] / 100 - 1;
  settings.detector = "yolov8";
  auto plan = plan_of({raw}, settings);
  ASSERT_TRUE(plan && plan->warnings.size() == 1);
  expect_words(plan->warnings[0].message(), {"decoded boxes", "detector="});

  settings.detector = "yolox";
  plan = plan_of({raw}, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->warnings.empty());
  plan = plan_of({dense({.anchors = 3549, .classes = 81, .rows = true})}, settings);
  ASSERT_TRUE(plan && plan->warnings.size() == 1);
  expect_words(plan->warnings[0].message(), {"box offsets and log sizes"});
}

TEST(ValueChecks, DistinguishNormalizedFromPixelCoordinates) {
  Settings settings;
  settings.detector = "yolov8-normalized";
  const auto plan = plan_of({dense({.classes = 80})}, settings);
  ASSERT_TRUE(plan && plan->warnings.size() == 1);
  expect_words(plan->warnings[0].message(), {"coordinates are not in 0..1", "box-units="});
}

uint32_t classes_of(const std::vector<Tensor>& tensors, const char* detector, uint32_t labels = 0,
                    uint32_t set = 0) {
  Settings settings;
  settings.detector = detector;
  settings.label_count = labels;
  settings.num_classes = set;
  const auto plan = plan_of(tensors, settings);
  EXPECT_TRUE(plan) << plan.error().message();
  if (!plan) return 0;
  EXPECT_TRUE(plan->warnings.empty()) << plan->warnings[0].message();
  EXPECT_EQ(plan->layout.classes + plan->layout.payload_count + 4,
            std::min(tensors.back().shape[1], tensors.back().shape[2]));
  return plan->layout.classes;
}

TEST(ValueChecks, RejectCornersFarBeyondTheOthers) {
  for (const size_t corner : {0, 1}) {
    Tensor boxes{.values = std::vector<float>(2100 * 4), .shape = {1, 2100, 4}};
    for (size_t i = 0; i < boxes.values.size(); ++i) boxes.values[i] = i % 4 < 2 ? 10 : 100;
    const Tensor scores{.values = std::vector<float>(2100 * 80, 0.5f), .shape = {1, 2100, 80}};
    Settings settings;
    settings.frame.size = {320, 320};
    const auto plan = plan_of({boxes, scores}, settings);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->spec->coding, BoxCoding::kCorners);
    boxes.values[corner] = -101;
    const auto other = plan_of({boxes, scores}, settings);
    EXPECT_TRUE(!other || other->spec->coding != BoxCoding::kCorners);
  }
}

TEST(Payload, HasOneCoefficientPerPrototype) {
  const Tensor masks = dense({.classes = 3, .payload = 8});
  EXPECT_EQ(classes_of({test::prototypes(8, 160), masks}, "yolov8-seg"), 3u);
  EXPECT_EQ(classes_of({test::prototypes(8, 160), masks}, "auto"), 3u) << "from both shapes";
  EXPECT_EQ(classes_of({test::prototypes(8, 160), masks}, "yolov8-seg", 5), 3u)
      << "label file of another model";
}

TEST(Payload, IsTheRestAfterTheClasses) {
  const Tensor masks = dense({.classes = 3, .payload = 16});
  EXPECT_EQ(classes_of({masks}, "yolov8-seg", 3), 3u);
  EXPECT_EQ(classes_of({masks}, "yolov8-seg", 7, 3), 3u) << "set, overrides the labels";
  const Tensor pose = dense({.classes = 2, .payload = 15, .number = test::keypoint});
  EXPECT_EQ(classes_of({pose}, "yolov8-pose", 2), 2u);
  EXPECT_EQ(classes_of({pose}, "yolov8-pose", 0, 2), 2u);
  EXPECT_EQ(classes_of({dense(kOriented)}, "yolov8", 0, 15), 15u) << "the angle is ignored";
  EXPECT_EQ(classes_of({dense(kOriented)}, "yolov8-obb"), 15u);
}

TEST(Payload, DefaultsToThatOfCocoModels) {
  EXPECT_EQ(classes_of({dense(kSegmentation)}, "yolov8-seg"), 1u);
  EXPECT_EQ(classes_of({dense({.classes = 80, .payload = 32})}, "yolov8-seg"), 80u);
  const Dense pose{.classes = 2, .payload = 51, .number = test::keypoint};
  EXPECT_EQ(classes_of({dense(pose)}, "yolov8-pose"), 2u);
  EXPECT_EQ(classes_of({dense(pose)}, "yolov8-pose", 80), 2u) << "labels that do not fit";
}

TEST(Payload, MismatchNamesThePropertyToSet) {
  Settings settings;
  settings.detector = "yolov8-pose";
  const Tensor pose = dense({.classes = 2, .payload = 15, .number = test::keypoint});
  expect_words(error_of(pose, settings), {"yolov8-pose", "keypoints", "1x21x8400", "num-classes="});
  settings.num_classes = 40;
  expect_words(error_of(pose, settings), {"40 classes", "num-classes="});
  settings.detector = "yolov8-seg";
  settings.num_classes = 0;
  expect_words(error_of(dense({.classes = 3, .payload = 8}), settings),
               {"yolov8-seg", "mask coefficients", "num-classes="});
}

TEST(Payload, IsNotTakenForScores) {
  Settings settings = test::pixel_settings();
  settings.detector = "yolov8-seg";
  settings.num_classes = 3;
  settings.max_detections = 8400;
  const auto found = test::detect(settings, {dense({.classes = 3, .payload = 16}).view()});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_GT(found->size(), 10u);
  for (const Detection& each : *found) {
    EXPECT_LE(each.score, 1.0f);
    EXPECT_LT(each.class_id, 3u);
  }
}

}  // namespace
}  // namespace keepbox
