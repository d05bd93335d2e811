// SPDX-License-Identifier: LGPL-2.1-or-later
// Families without a model, which a file may describe.
#include <gtest/gtest.h>

#include <memory>

#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Tensor;

/// One anchor per cell of a 4x4 grid, with deltas from prior boxes and peaks.
DetectorSpec peaks_of_deltas() {
  DetectorSpec spec{.name = "peaks", .reader = Reader::kSplit};
  spec.tensors = {TensorRule{.role = Role::kBoxes, .ids = {"boxes"}},
                  TensorRule{.role = Role::kScores, .ids = {"scores"}}};
  spec.tensor_count = 2;
  spec.coding = BoxCoding::kPriorDelta;
  spec.units = Units::kNormalized;
  spec.peaks = true;
  spec.strides = {16};
  spec.priors = true;
  spec.nms = NmsMethod::kNone;
  return spec;
}

TEST(UnusualFamily, MayCombinePeaksAndPriors) {
  constexpr AnchorSize kSide[] = {{16, 16}};
  Tensor boxes{.values = std::vector<float>(64), .shape = {1, 16, 4}, .id = "boxes"};
  Tensor scores{.values = std::vector<float>(16), .shape = {1, 16, 1}, .id = "scores"};
  scores.values[5] = 0.9f;
  scores.values[10] = 0.8f;  // adjacent to the first
  scores.values[15] = 0.7f;  // adjacent to that
  scores.values[3] = 0.6f;   // in a corner
  for (const bool table : {false, true}) {
    DetectorSpec spec = peaks_of_deltas();
    Settings settings = test::pixel_settings(64);
    settings.units = Units::kAuto;
    settings.model_size = {64, 64};
    if (table) settings.priors.assign(16, {0.5f, 0.5f, 0.25f, 0.25f});
    else spec.anchors.sizes = kSide;
    settings.family = std::make_shared<DetectorSpec>(spec);
    const auto found = test::detect(settings, {boxes.view(), scores.view()});
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].anchor, 5u);
    EXPECT_EQ((*found)[1].anchor, 3u);
  }
}

TEST(UnusualFamily, ColumnsAreWithinRows) {
  test::Tensor rows{.values = std::vector<float>(300 * 6), .shape = {1, 300, 6}};
  const TensorView view = rows.view();
  const auto fits = [&](auto change) {
    auto spec = std::make_shared<DetectorSpec>(*find_detector("yolov10"));
    change(*spec);
    Settings settings = test::pixel_settings(640);
    settings.detector = "auto";
    settings.family = spec;
    return make_plan(settings, std::span(&view, 1)).has_value();
  };
  EXPECT_TRUE(fits([](DetectorSpec&) {}));
  EXPECT_FALSE(fits([](DetectorSpec& spec) { spec.columns.box = 3; }));
  EXPECT_FALSE(fits([](DetectorSpec& spec) { spec.columns.score = 6; }));
  EXPECT_FALSE(fits([](DetectorSpec& spec) { spec.columns.class_id = 9; }));
}

TEST(UnusualFamily, OptionalTensorIsInAllLevelsOrNone) {
  DetectorSpec spec{.name = "levels", .reader = Reader::kSplit};
  spec.tensors = {TensorRule{.role = Role::kBoxes, .ids = {"boxes"}},
                  TensorRule{.role = Role::kScores, .ids = {"scores"}},
                  TensorRule{.role = Role::kObjectness, .optional = true, .ids = {"objectness"}}};
  spec.tensor_count = 3;
  spec.coding = BoxCoding::kGridExp;
  spec.strides = {8, 16};
  const auto map = [](const char* id, size_t channels, size_t side) {
    return Tensor{std::vector<float>(channels * side * side), {1, channels, side, side}, id};
  };
  const std::vector<Tensor> all{map("boxes", 4, 8),      map("boxes", 4, 4),
                                map("scores", 3, 8),     map("scores", 3, 4),
                                map("objectness", 1, 8), map("objectness", 1, 4)};
  const auto fits = [&](size_t count) {
    std::vector<TensorView> views;
    for (size_t i = 0; i < count; ++i) views.push_back(all[i].view());
    Settings settings = test::pixel_settings(64);
    settings.model_size = {64, 64};
    settings.family = std::make_shared<DetectorSpec>(spec);
    return make_plan(settings, views).has_value();
  };
  EXPECT_TRUE(fits(4));
  EXPECT_FALSE(fits(5));
  EXPECT_TRUE(fits(6));
}

TEST(UnusualFamily, OneRealClassHasNoMultipleLabels) {
  const Tensor boxes{.values = std::vector<float>(64, 8), .shape = {1, 16, 4}, .id = "boxes"};
  const auto plan_of = [&](size_t scores) {
    auto spec = std::make_shared<DetectorSpec>(peaks_of_deltas());
    spec->peaks = spec->priors = false;
    spec->coding = BoxCoding::kCorners;
    spec->units = Units::kPixels;
    spec->background = Background::kFirst;
    spec->multi_label = true;
    Settings settings = test::pixel_settings(64);
    settings.family = spec;
    const Tensor all{
        .values = std::vector<float>(16 * scores), .shape = {1, 16, scores}, .id = "scores"};
    return make_plan(settings, std::vector{boxes.view(), all.view()});
  };
  const auto one = plan_of(2), two = plan_of(3);
  ASSERT_TRUE(one) << one.error().message();
  ASSERT_TRUE(two) << two.error().message();
  EXPECT_FALSE(one->rules.multi_label);
  EXPECT_EQ(one->rules.candidates, 16u);
  EXPECT_TRUE(two->rules.multi_label);
  EXPECT_EQ(two->rules.candidates, 32u);
}

TEST(UnusualFamily, ReadsScoresOfSelectedRows) {
  const Tensor rows{.values = {0, 1, 2, 0, 0, 1}, .shape = {2, 3}, .id = "selected_indices"};
  const Tensor boxes{
      .values = {0, 0, 9, 9, 20, 0, 29, 9, 40, 0, 49, 9}, .shape = {1, 3, 4}, .id = "boxes"};
  const Tensor scores{
      .values = {0.1f, 0.2f, 0.8f, 0.3f, 0.4f, 0.9f}, .shape = {1, 3, 2}, .id = "scores"};
  Settings settings = test::pixel_settings(64);
  settings.detector = "onnx-nms-xy";
  const auto found = test::detect(settings, {rows.view(), boxes.view(), scores.view()});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].score, 0.9f);
  EXPECT_EQ((*found)[0].box, (Box{40, 0, 49, 9}));
  EXPECT_EQ((*found)[1].score, 0.8f);
}

TEST(UnusualFamily, PointsMayFollowTheClassesOfAMap) {
  DetectorSpec spec = *find_detector("yolov8-pose");
  spec.strides = {16};
  const Tensor map{.values = std::vector<float>(57 * 16), .shape = {1, 57, 4, 4}};
  Request request;
  request.family = &spec;
  request.num_classes = 2;
  const TensorView view = map.view();
  const auto seen = recognise(std::span(&view, 1), request);
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->layout.classes, 2u);
  EXPECT_EQ(seen->layout.payload_count, 51u);
  EXPECT_EQ(seen->layout[FieldId::kPayload].offset, 6u * 16);
}

/// The memory of tensors without anchors is neither boxes nor scores.
TEST(UnusualFamily, IndicesWithoutAnchorsMakeNoBoxes) {
  const std::vector<float> fives(40, 5.0f);
  const Tensor rows{.values = {0, 1, 2, 0, 0, 1}, .shape = {2, 3}, .id = "selected_indices"};
  const Tensor boxes{.values = fives, .shape = {1, 0, 4}, .id = "boxes"};
  const Tensor scores{.values = fives, .shape = {1, 0, 2}, .id = "scores"};
  Settings settings = test::pixel_settings(64);
  settings.detector = "onnx-nms-xy";
  const auto found = test::detect(settings, {rows.view(), boxes.view(), scores.view()});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->empty());
}

TEST(UnusualFamily, IndicesOfTheBackgroundMakeNoBoxes) {
  const Tensor rows{
      .values = {0, 0, 0, 0, 1, 1, 0, 2, 2}, .shape = {3, 3}, .id = "selected_indices"};
  const Tensor boxes{
      .values = {0, 0, 9, 9, 20, 0, 29, 9, 40, 0, 49, 9}, .shape = {1, 3, 4}, .id = "boxes"};
  const Tensor scores{.values = std::vector<float>(9, 0.9f), .shape = {1, 3, 3}, .id = "scores"};
  const auto classes = [&](Background background) {
    auto spec = std::make_shared<DetectorSpec>(*find_detector("onnx-nms-xy"));
    spec->background = background;
    Settings settings = test::pixel_settings(64);
    settings.family = spec;
    const auto found = test::detect(settings, {rows.view(), boxes.view(), scores.view()});
    std::vector<uint32_t> out;
    for (const Detection& box : found.value()) out.push_back(box.class_id);
    return out;
  };
  EXPECT_EQ(classes(Background::kNone), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(classes(Background::kFirst), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(classes(Background::kLast), (std::vector<uint32_t>{0, 1}));
}

}  // namespace
}  // namespace keepbox
