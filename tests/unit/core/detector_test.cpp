// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of families, and that families which no reader has yet are data of the same kind.
#include "core/detector.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/layout.h"

namespace keepbox {
namespace {

TEST(Detectors, HaveUniqueNamesAndSummaries) {
  std::set<std::string_view> names;
  for (const DetectorSpec& spec : detectors()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_FALSE(spec.summary.empty()) << spec.name;
    EXPECT_EQ(find_detector(spec.name), &spec);
    EXPECT_GE(spec.tensor_count, 1u);
  }
  EXPECT_EQ(find_detector("auto"), nullptr);
}

TEST(Detectors, GiveNoIdToTwoFamiliesButYoloxs) {
  std::set<std::string_view> ids;
  for (const DetectorSpec& spec : detectors())
    for (const TensorRule& rule : spec.rules())
      for (const std::string_view id : rule.ids)
        if (!id.empty() && spec.name != "yolox-decoded") {
          EXPECT_TRUE(ids.insert(id).second) << id;
        }
}

constexpr AnchorSize kYolov5Anchors[] = {{10, 13},  {16, 30},   {33, 23},   {30, 61},  {62, 45},
                                         {59, 119}, {116, 90}, {156, 198}, {373, 326}};

/// Families with raw heads, bins, heat maps and payloads, as one table row each.
const DetectorSpec kOthers[] = {
    {.name = "yolov3-darknet", .reader = Reader::kHeads, .coding = BoxCoding::kGridDarknet,
     .score = ScoreRule::kProduct, .activation = Activation::kSigmoid, .strides = {32, 16, 8},
     .anchors_per_cell = 3, .anchors = kYolov5Anchors},
    {.name = "yolov4", .reader = Reader::kSplit,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}}, .tensor_count = 2,
     .columns = {.classes = 0}, .coding = BoxCoding::kCorners, .units = Units::kNormalized},
    {.name = "yolov5-heads", .reader = Reader::kHeads, .columns = {.objectness = 4, .classes = 5},
     .coding = BoxCoding::kGridSigmoid, .cell_offset = -0.5f, .score = ScoreRule::kProduct,
     .activation = Activation::kSigmoid, .strides = {8, 16, 32}, .anchors_per_cell = 3,
     .anchors = kYolov5Anchors},
    {.name = "yolov5-seg", .tensors = {{{.role = Role::kAll}, {.role = Role::kProtos}}},
     .tensor_count = 2, .columns = {.objectness = 4, .classes = 5}, .score = ScoreRule::kProduct,
     .strides = {8, 16, 32}, .anchors_per_cell = 3, .payload = Payload::kMaskCoefficients,
     .payload_count = 32},
    {.name = "yolo26-obb", .reader = Reader::kReady, .columns = {.score = 4, .class_id = 5},
     .coding = BoxCoding::kCenterSize, .payload = Payload::kAngle, .payload_count = 1,
     .nms = NmsMethod::kNone},
    {.name = "pp-yoloe", .reader = Reader::kSplit,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}}, .tensor_count = 2,
     .columns = {.classes = 0}, .coding = BoxCoding::kCorners, .units = Units::kPixels},
    {.name = "pp-yoloe-full", .reader = Reader::kReady,
     .columns = {.box = 2, .score = 1, .class_id = 0}, .coding = BoxCoding::kCorners,
     .nms = NmsMethod::kNone},
    {.name = "nanodet-plus", .columns = {.classes = 0, .box_last = true},
     .coding = BoxCoding::kDistanceBins, .bins = 8, .strides = {8, 16, 32, 64}},
    {.name = "retinanet", .reader = Reader::kHeads,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}}, .tensor_count = 2,
     .coding = BoxCoding::kPriorDeltaXY, .activation = Activation::kSigmoid,
     .strides = {8, 16, 32, 64, 128}, .anchors_per_cell = 9, .priors = true},
    {.name = "efficientdet", .reader = Reader::kSplit,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}}, .tensor_count = 2,
     .coding = BoxCoding::kPriorDelta, .activation = Activation::kSigmoid, .priors = true},
    {.name = "detr", .reader = Reader::kSplit,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}}, .tensor_count = 2,
     .columns = {.classes = 0}, .units = Units::kNormalized, .activation = Activation::kSoftmax,
     .background = Background::kLast, .nms = NmsMethod::kNone},
    {.name = "rt-detr", .reader = Reader::kOutputs,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}, {.role = Role::kClasses}}},
     .tensor_count = 3, .coding = BoxCoding::kCorners, .units = Units::kPixels,
     .nms = NmsMethod::kNone},
    {.name = "rt-detr-ultralytics", .columns = {.classes = 4}, .units = Units::kNormalized,
     .nms = NmsMethod::kNone},
    {.name = "centernet", .reader = Reader::kHeatmap,
     .tensors = {{{.role = Role::kScores}, {.role = Role::kSizes}, {.role = Role::kOffsets}}},
     .tensor_count = 3, .coding = BoxCoding::kCenterOffset, .activation = Activation::kSigmoid,
     .strides = {4}, .nms = NmsMethod::kNone},
    {.name = "scrfd", .reader = Reader::kHeads,
     .tensors = {{{.role = Role::kScores}, {.role = Role::kBoxes}, {.role = Role::kKeypoints}}},
     .tensor_count = 3, .coding = BoxCoding::kDistances, .strides = {8, 16, 32},
     .anchors_per_cell = 2, .payload = Payload::kKeypoints, .payload_count = 10},
    {.name = "retinaface", .reader = Reader::kSplit,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}, {.role = Role::kKeypoints}}},
     .tensor_count = 3, .coding = BoxCoding::kPriorDeltaXY, .units = Units::kNormalized,
     .box_scale = {0.1f, 0.1f, 0.2f, 0.2f}, .activation = Activation::kSoftmax,
     .background = Background::kFirst, .priors = true, .payload = Payload::kKeypoints,
     .payload_count = 10},
    {.name = "yunet", .reader = Reader::kHeads,
     .tensors = {{{.role = Role::kScores}, {.role = Role::kObjectness}, {.role = Role::kBoxes},
                  {.role = Role::kKeypoints}}},
     .tensor_count = 4, .coding = BoxCoding::kGridExp, .score = ScoreRule::kGeometricMean,
     .strides = {8, 16, 32}, .payload = Payload::kKeypoints, .payload_count = 10},
    {.name = "blazeface", .reader = Reader::kSplit,
     .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}}, .tensor_count = 2,
     .box_scale = {1 / 128.f, 1 / 128.f, 1 / 128.f, 1 / 128.f},
     .activation = Activation::kSigmoid, .logit_limit = 100, .priors = true,
     .payload = Payload::kKeypoints, .payload_count = 12},
    {.name = "yolov8-obb", .columns = {.classes = 4}, .strides = {8, 16, 32},
     .payload = Payload::kAngle, .payload_count = 1},
};

TEST(Detectors, ThatNoReaderHasAreRefusedWithAReason) {
  const float data[64]{};
  const TensorView tensor{.data = data, .bytes = sizeof data, .shape = {1, 8, 8}};
  for (const DetectorSpec& spec : kOthers) {
    if (spec.reader != Reader::kHeads && spec.reader != Reader::kHeatmap) continue;
    const auto layout = fit(spec, std::span(&tensor, 1), {});
    ASSERT_FALSE(layout) << spec.name;
    EXPECT_EQ(layout.error().kind, ErrorKind::kUnsupported);
    EXPECT_NE(layout.error().message().find(spec.name), std::string::npos);
  }
}

TEST(Detectors, WithTheSameReadersFitTheirPublishedShapes) {
  const auto fits = [](std::string_view name, std::initializer_list<Shape> shapes,
                       uint32_t anchors, uint32_t classes) {
    const auto* spec = std::ranges::find(kOthers, name, &DetectorSpec::name);
    std::vector<TensorView> tensors;
    for (const Shape& shape : shapes) tensors.push_back({.shape = shape});
    const auto layout = fit(*spec, tensors, {});
    ASSERT_TRUE(layout) << name << ": " << layout.error().message();
    EXPECT_EQ(layout->anchors, anchors) << name;
    EXPECT_EQ(layout->classes, classes) << name;
  };
  fits("yolov4", {{1, 10647, 1, 4}, {1, 10647, 80}}, 10647, 80);
  fits("yolov5-seg", {{1, 25200, 117}, {1, 32, 160, 160}}, 25200, 80);
  fits("yolo26-obb", {{1, 300, 7}}, 300, 0);
  fits("pp-yoloe", {{1, 8400, 4}, {1, 80, 8400}}, 8400, 80);
  fits("detr", {{1, 100, 4}, {1, 100, 92}}, 100, 92);
  fits("rt-detr-ultralytics", {{1, 300, 84}}, 300, 80);
  fits("yolov8-obb", {{1, 20, 21504}}, 21504, 15);
}

}  // namespace
}  // namespace keepbox
