// SPDX-License-Identifier: LGPL-2.1-or-later
// Contents of a plan's hints, warnings and remarks: other families, their inputs, and what the
// producer declares.
#include <gtest/gtest.h>

#include "core/model/contracts.h"
#include "core/plan/plan.h"
#include "core/recognition/fit.h"
#include "core/recognition/texts.h"
#include "tests/dense.h"

namespace keepbox {
namespace hints {
namespace {

using test::dense;
using test::Tensor;

Result<Plan> plan_of(const std::vector<Tensor>& tensors, Settings settings) {
  if (settings.frame.size.width == 0) settings.frame.size = {640, 640};
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return make_plan(settings, views);
}

std::string hint_of(const std::vector<Tensor>& tensors, const Settings& settings) {
  const auto plan = plan_of(tensors, settings);
  EXPECT_FALSE(plan) << plan->remark;
  return plan ? "" : plan.error().hint;
}

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

Tensor filled(Shape shape, float value) {
  return {.values = std::vector<float>(shape.count().value_or(0), value), .shape = shape};
}

Settings yolox_of(Size input) {
  Settings settings;
  settings.detector = "yolox";
  settings.letterbox = make_letterbox({.size = input}, {.size = input}, ResizeMode::kStretch);
  return settings;
}

TEST(Hints, NameOtherFamiliesOnlyIfTheyFit) {
  // 3549 anchors are those of 416x416.
  EXPECT_EQ(hint_of({filled({1, 3549, 85}, 0.5f)}, yolox_of({640, 640})),
            "set detector= to one of yolov8, yolov5");
  Tensor logits = filled({1, 3549, 85}, 0.5f);
  for (size_t i = 0; i < logits.values.size(); ++i)
    if (i % 85 > 3) logits.values[i] = -9;
  EXPECT_EQ(hint_of({logits}, yolox_of({640, 640})),
            "set detector= to a file that describes the model's family");
  Settings unknown;
  unknown.detector = "yolox";
  unknown.model_size = {640, 480};
  EXPECT_EQ(hint_of({logits}, unknown), "set model-size=");
}

/// Priors are made for one size of the input; queries are not.
TEST(Hints, NameOtherFamiliesOfTheInput) {
  const Tensor boxes = filled({1, 1917, 4}, 0.25f), scores = filled({1, 1917, 5}, 0.25f);
  const std::vector<TensorView> views{boxes.view(), scores.view()};
  Request request;
  request.detector = "yolo-nas";
  const auto layout = fit(*find_detector("yolo-nas"), views, request);
  ASSERT_TRUE(layout) << layout.error().message();
  const auto others = [&](Size input) { return other_families(*layout, views, request, input); };
  EXPECT_EQ(others({}), "detr, rt-detr, ssd");
  EXPECT_EQ(others({300, 300}), "detr, rt-detr, ssd");
  EXPECT_EQ(others({320, 320}), "detr, rt-detr");
}

TEST(Hints, NameTheFamilyOfTheOtherUnit) {
  Settings settings;
  settings.detector = "yolov8-normalized";
  const auto other = plan_of({dense({.classes = 80})}, settings);
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_EQ(other->warnings.size(), 1u);
  EXPECT_EQ(other->warnings[0].hint,
            "set box-units=pixels in a detector file, or detector= to one of yolov8, "
            "yolox-decoded, yolov5");
  Tensor logits = dense({.classes = 80});
  for (size_t i = size_t{4} * 8400; i < logits.values.size(); ++i) logits.values[i] = -9;
  const auto none = plan_of({logits}, settings);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_EQ(none->warnings.front().hint, "set box-units=pixels in a detector file");
}

/// Half of the queries have a logit above 0, which both a softmax and sigmoids may give.
std::vector<Tensor> doubtful_queries() {
  Tensor logits = filled({1, 300, 6}, -3.0f), boxes = filled({1, 300, 4}, 0.25f);
  for (size_t i = 0; i < logits.values.size(); i += 12) logits.values[i] = 2;
  logits.id = "logits", boxes.id = "pred_boxes";
  return {logits, boxes};
}

TEST(Hints, NameTheInputsOfFamiliesWithSeveralTensors) {
  const auto plan = plan_of(doubtful_queries(), {});
  ASSERT_FALSE(plan) << plan->remark;
  expect_words(plan.error().found, {"detr (5 classes)", "rt-detr (6 classes)"});
  expect_words(plan.error().hint,
               {"set detector= to one of them; tensorinfer then uses the input of that family",
                "input-std=58.395,57.12,57.375 resize-mode=stretch for detr",
                "input-mean=0 input-std=255 resize-mode=stretch for rt-detr"});
}

TEST(Hints, NameTheInputOfTheFamilyThatFitsInstead) {
  Settings settings;
  settings.declared_detector = "yolov8";
  expect_words(hint_of({dense({.payload = 32})}, settings),
               {"tensorinfer then uses the input", "resize-mode=letterbox-center for yolov8-seg"});
}

TEST(Hints, CentresFarOutsideAreAWarningForADeclaredFamily) {
  Tensor far = dense({.classes = 80});
  far.values[0] = -300;
  Settings settings;
  expect_words(hint_of({far}, settings), {"set detector="});
  settings.declared_detector = "yolov8";
  const auto plan = plan_of({far}, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->warnings.size(), 1u);
  expect_words(plan->warnings[0].message(),
               {"decoded boxes for yolov8", "input-std= of tensorinfer"});
  EXPECT_FALSE(plan->warnings[0].hint.contains("detector=")) << "the model names its family";
  settings.declared_detector = "";
  far.id = "yolo-v8-out";
  EXPECT_TRUE(plan_of({far}, settings)) << "an id is a declaration";
  far.id = "";
  settings.declared_detector = "yolov8";
  far.values[8400 * 2] = -300;  // a negative width
  EXPECT_FALSE(plan_of({far}, settings));
}

TEST(Hints, RemarksNameWhatTheModelDeclares) {
  const Tensor tensor = dense({.classes = 80});
  Settings settings;
  const auto remark = [&] {
    const auto plan = plan_of({tensor}, settings);
    EXPECT_TRUE(plan) << plan.error().message();
    return plan ? std::string(plan->rules.contract.name) + " " +
                      std::to_string(plan->rules.iou_threshold).substr(0, 4) +
                      plan->remark.substr(std::min(
                          plan->remark.find("; nms-contract"),
                          std::min(plan->remark.find("; iou-threshold"), plan->remark.size())))
                : "";
  };
  EXPECT_EQ(remark(), "exact 0.45");
  settings.declared_contract = "ultralytics";
  settings.declared_iou_threshold = 0.7f;
  EXPECT_EQ(remark(),
            "ultralytics 0.70; nms-contract=ultralytics and iou-threshold=0.7 as declared by the "
            "model");
  settings.iou_threshold = 0.45f;
  EXPECT_EQ(remark(), "ultralytics 0.45; nms-contract=ultralytics as declared by the model");
  settings.nms_contract = "onnx";
  EXPECT_EQ(remark(), "onnx 0.45");
  settings.iou_threshold.reset();
  EXPECT_EQ(remark(), "onnx 0.70; iou-threshold=0.7 as declared by the model");
}

TEST(Recognise, PpyoloeByItsPlanesOfScores) {
  Tensor boxes = filled({1, 2100, 4}, 10);
  for (size_t i = 0; i < boxes.values.size(); ++i)
    if (i % 4 > 1) boxes.values[i] = 100;
  for (const size_t classes : {80, 1}) {
    Settings settings;
    settings.frame.size = {320, 320};
    settings.label_count = classes == 80 ? 0 : 1;
    const auto planes = plan_of({boxes, filled({1, classes, 2100}, 0.5f)}, settings);
    ASSERT_TRUE(planes) << planes.error().message();
    EXPECT_EQ(planes->spec->name, "ppyoloe");
    const auto rows = plan_of({boxes, filled({1, 2100, classes}, 0.5f)}, settings);
    ASSERT_TRUE(rows) << rows.error().message();
    EXPECT_EQ(rows->spec->name, "yolo-nas");
  }
}

}  // namespace
}  // namespace hints
}  // namespace keepbox
