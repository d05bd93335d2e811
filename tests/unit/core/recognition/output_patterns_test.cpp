// SPDX-License-Identifier: LGPL-2.1-or-later
// Value patterns of a model's outputs that identify a family, whatever their names and their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/plan/plan.h"
#include "core/recognition/maps.h"
#include "core/recognition/recognise.h"
#include "core/recognition/value_patterns.h"
#include "tests/unit/core/recognition/patterns.h"

namespace keepbox {
namespace signs {
namespace {

template <class T>
TensorView view_of(const char* id, const std::vector<T>& values, DataType type, Shape shape) {
  return {.id = id,
          .data = values.data(),
          .bytes = values.size() * sizeof(T),
          .type = type,
          .shape = shape};
}

/// Boxes, scores, classes and count, whose names do not distinguish them.
std::vector<Tensor> ssd() {
  const auto list = [](const char* name, std::vector<float> values, Shape shape) {
    return Tensor{.values = std::move(values), .shape = shape, .id = name};
  };
  return {list("StatefulPartitionedCall:1",
               {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.5f, 0.9f, 0.8f, 0, 0, 0, 0}, {1, 3, 4}),
          list("StatefulPartitionedCall:4", {0.9f, 0.6f, 0}, {1, 3}),
          list("StatefulPartitionedCall:2", {17, 0, 0}, {1, 3}),
          list("StatefulPartitionedCall:5", {2}, {1})};
}

TEST(ValuePatterns, IdentifyDetectionOutputByItsShape) {
  const Tensor seven{.values = {0, 1, 0.9f, 0.1f, 0.1f, 0.3f, 0.4f}, .shape = {1, 1, 1, 7}};
  expect_family({seven}, "detection-output");
}

TEST(ValuePatterns, IdentifyTheOutputsOfSsd) {
  const std::vector<Tensor> all = ssd();
  const std::vector<std::vector<Tensor>> orders{all, {all[3], all[2], all[0], all[1]}};
  for (const auto& order : orders) expect_family(order, "ssd-postprocess");
  // By names with the number of the output as a suffix, whatever the values.
  std::vector<Tensor> named = all;
  named[0].id = "detection_boxes:0", named[1].id = "detection_scores:0";
  named[2].id = "detection_classes:0", named[3].id = "num_detections:0";
  expect_family(named, "ssd-postprocess", Basis::kNamed);
}

/// A producer may declare what a trial run has shown, without names for its tensors.
TEST(ValuePatterns, FindTheTensorsOfADeclaredFamily) {
  std::vector<Tensor> tensors = ssd();
  std::ranges::reverse(tensors);
  expect_family(tensors, "ssd-postprocess", Basis::kNamed,
                {.declared_detector = "ssd-postprocess"});
  const auto plan = plan_of(tensors, {.declared_detector = "ssd-postprocess"});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->reads, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(plan->layout[FieldId::kBox].tensor, 3);
  // Features in front of the rows of a detector.
  const Tensor features = rows(2100, 23, [](size_t row, size_t) { return row % 2 ? 3.0f : -3.0f; });
  const auto second = plan_of({features, yolox(2100, 18)}, {.declared_detector = "yolox"});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->reads, std::vector<uint32_t>{1});
}

/// A picture without objects shows too little: real boxes may be those of another family.
TEST(ValuePatterns, BlankBoxesAreSettledLater) {
  std::vector<Tensor> tensors = ssd();
  for (Tensor& each : tensors) std::ranges::fill(each.values, 0.0f);
  const auto blank = plan_of(tensors);
  ASSERT_TRUE(blank) << blank.error().message();
  EXPECT_EQ(blank->basis, Basis::kShape) << blank->remark;
  EXPECT_TRUE(blank->provisional);
  EXPECT_EQ(blank->spec->name, "ssd-postprocess") << "as soon as there is a box, it is another";
  const auto declared = plan_of(tensors, {.declared_detector = "ssd-postprocess"});
  ASSERT_TRUE(declared) << declared.error().message();
  EXPECT_TRUE(declared->provisional) << "scores and classes look the same";
  const auto shown = plan_of(ssd());
  ASSERT_TRUE(shown);
  EXPECT_FALSE(shown->provisional);
}

/// Heat maps store two of a box's values in each of two tensors.
TEST(ValuePatterns, NoBoxValuesAreReadBeyondTheOffsetsOfHeatMaps) {
  constexpr size_t kCells = size_t{128} * 128;
  const std::vector<float> scores(80 * kCells, -4.0f), sizes(2 * kCells, 8.0f);
  const std::vector<float> offsets(4 * kCells);  // and as many zeros of somebody else
  std::vector<TensorView> views{
      view_of("a", scores, DataType::kFloat32, {1, 80, 128, 128}),
      view_of("b", sizes, DataType::kFloat32, {1, 2, 128, 128}),
      view_of("c", offsets, DataType::kFloat32, {1, 2, 128, 128}),
  };
  views[2].bytes /= 2;
  const auto found = recognise(views, Request{});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->layout.spec->name, "centernet");
  EXPECT_FALSE(found->blank) << "the sizes are not 0";
}

TEST(ValuePatterns, IdentifyTheOutputsOfTorchvision) {
  const std::vector<float> boxes{10, 20, 30, 40, 50, 50, 90, 80};
  const std::vector<float> scores{0.9f, 0.6f};
  const std::vector<int64_t> labels{18, 3};
  std::vector<TensorView> views(3);
  views[0] = view_of("4212", boxes, DataType::kFloat32, {2, 4});
  views[1] = view_of("4181", scores, DataType::kFloat32, {2});
  views[2] = view_of("4182", labels, DataType::kInt64, {2});
  Settings settings;
  settings.frame.size = {320, 320};
  const auto plan = make_plan(settings, views);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->spec->name, "detr-postprocess");
  EXPECT_TRUE(plan->warnings.empty());
  // Masks in addition to them are not decoded, which is a warning; two lists of labels are not
  // known.
  const std::vector<float> centres{0.5f, 0.5f, 0.2f, 0.2f, 0.3f, 0.3f, 0.2f, 0.2f};
  views[0].data = centres.data();
  EXPECT_TRUE(find_outputs(ValuePattern::kLabelledOutputs, views).empty());
  views[0].data = boxes.data();
  const std::vector<float> mask(16);
  views.push_back(view_of("masks", mask, DataType::kFloat32, {2, 1, 2, 4}));
  const auto masked = make_plan(settings, views);
  ASSERT_TRUE(masked) << masked.error().message();
  ASSERT_EQ(masked->warnings.size(), 1u);
  expect_words(masked->warnings[0].message(), {"masks 2x1x2x4 float32", "tensor-ids="});
  views[3] = views[2];
  EXPECT_TRUE(find_outputs(ValuePattern::kLabelledOutputs, views).empty());
}

TEST(ValuePatterns, InputSizeDecidesBetweenFrontAndBackCameras) {
  const std::vector<Tensor> faces{rows(896, 16, [](size_t, size_t) { return 1.0f; }),
                                  rows(896, 1, [](size_t, size_t) { return -5.0f; })};
  Settings settings;
  settings.frame.size = {256, 256};
  expect_family(faces, "blazeface-back", Basis::kValues, settings);
  settings.frame.size = {128, 128};
  expect_family(faces, "blazeface", Basis::kValues, settings);
  settings.frame.size = {640, 480};
  const auto doubtful = plan_of(faces, settings);
  ASSERT_TRUE(doubtful) << doubtful.error().message();
  EXPECT_EQ(doubtful->spec->name, "blazeface");
  ASSERT_EQ(doubtful->warnings.size(), 1u);
  expect_words(doubtful->warnings[0].message(),
               {"blazeface of 128x128, blazeface-back of 256x256", "model-size="});
  settings.model_size = {256, 256};
  expect_family(faces, "blazeface-back", Basis::kValues, settings);
}

/// Boxes of two faces, each seen from the four cells around its centre. @param side of the input.
std::vector<Tensor> faces_of(float side) {
  const float stride = side / 16;
  const auto offset = [&](size_t row, size_t column) {  // of the nearer face, or far away
    const float cell =
        column == 0 ? static_cast<float>(row / 2 % 16) : static_cast<float>(row / 32);
    const float centre = (cell + 0.5f) * stride;
    return (centre < side / 2 ? 4 * stride : 12 * stride) - centre;
  };
  const auto is_near = [&](size_t row) {
    return row < 512 && std::max(std::abs(offset(row, 0)), std::abs(offset(row, 1))) < stride;
  };
  return {rows(896, 16,
               [&](size_t row, size_t column) {
                 return column > 1 ? stride * 3 : is_near(row) ? offset(row, column) : 0;
               }),
          rows(896, 1, [&](size_t row, size_t) { return is_near(row) ? 4.0f : -8.0f; })};
}

TEST(ValuePatterns, CellsThatAgreeDecideBetweenFrontAndBackCameras) {
  for (const Size frame : {Size{}, Size{128, 128}, Size{256, 256}, Size{640, 480}}) {
    Settings settings;
    settings.frame.size = frame;
    for (const bool back : {false, true}) {
      std::vector<TensorView> views;
      const std::vector<Tensor> tensors = faces_of(back ? 256 : 128);
      for (const Tensor& tensor : tensors) views.push_back(tensor.view());
      const auto plan = make_plan(settings, views);
      ASSERT_TRUE(plan) << plan.error().message();
      EXPECT_EQ(plan->spec->name, back ? "blazeface-back" : "blazeface") << frame.width;
      EXPECT_TRUE(plan->warnings.empty()) << plan->warnings[0].message();
    }
  }
}

TEST(ValuePatterns, UseTheInputSizeThatIsSet) {
  // PicoDet with a rectangular input, on a photo of another size.
  std::vector<Tensor> levels;
  for (const uint32_t stride : {8u, 16u, 32u, 64u}) {
    const Size cells = level_cells({416, 256}, stride);
    const size_t count = size_t{cells.width} * cells.height;
    levels.push_back(rows(count, 5, [](size_t, size_t) { return 0.1f; }));
    levels.push_back(rows(count, 32, [](size_t, size_t column) { return float(column % 8); }));
  }
  Settings settings;
  settings.frame.size = {1000, 700};
  const auto unsized = plan_of(levels, settings);
  EXPECT_TRUE(!unsized || unsized->spec->name != "picodet");
  settings.model_size = {416, 256};
  expect_family(levels, "picodet", Basis::kValues, settings);
}

}  // namespace
}  // namespace signs
}  // namespace keepbox
