// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors whose number of rows is dynamic: it may be that of the objects found.
#include <gtest/gtest.h>

#include "core/plan/plan.h"
#include "core/recognition/shapes.h"
#include "tests/scene.h"

namespace keepbox {
namespace openrows {
namespace {

using test::Tensor;

std::string chosen(Shape shape, bool open) {
  const TensorView view{.type = DataType::kFloat32, .shape = shape};
  const auto list = rank_families({&view, 1}, 0, {.dynamic_rows = open, .frame = {320, 320}});
  const FamilyCandidate* best = decided(list);
  return best != nullptr ? std::string(best->spec->name) : "";
}

TEST(OpenRows, OfFewObjectsAreNoGrid) {
  // 63 and 252 are three anchors per cell of some input, 21 and 84 one.
  for (const size_t count : {63, 252, 21, 84, 189, 336}) {
    EXPECT_NE(chosen({1, count, 6}, false), "yolov10") << count;
    EXPECT_EQ(chosen({1, count, 6}, true), "yolov10") << count;
  }
}

TEST(OpenRows, OfTheWholeInputAreItsGrid) {
  EXPECT_EQ(chosen({1, 6300, 30}, true), "yolov5");
  EXPECT_EQ(chosen({1, 22, 2100}, true), "yolov8");
  EXPECT_EQ(chosen({1, 25200, 30}, false), "yolov5") << "a square input of another size";
  EXPECT_EQ(chosen({1, 25200, 30}, true), "");
}

TEST(OpenRows, AreNotAGridIfTheFirstFrameIsBlank) {
  const Tensor blank{.values = std::vector<float>(size_t{63} * 6), .shape = {1, 63, 6}};
  // Corners in another order do not indicate end-to-end rows either.
  Tensor unordered = blank;
  for (size_t i = 0; i < unordered.values.size(); i += 6) {
    unordered.values[i] = 90, unordered.values[i + 1] = 80, unordered.values[i + 2] = 10;
    unordered.values[i + 3] = 20, unordered.values[i + 4] = 0.5f;
  }
  for (const Tensor& tensor : {blank, unordered}) {
    const TensorView view = tensor.view();
    Settings settings;
    settings.frame.size = {320, 320};
    settings.dynamic_rows = true;
    const auto open = make_plan(settings, {&view, 1});
    ASSERT_TRUE(open) << open.error().message();
    EXPECT_EQ(open->spec->name, "yolov10");
    settings.dynamic_rows = false;
    const auto fixed = make_plan(settings, {&view, 1});
    EXPECT_TRUE(!fixed || fixed->spec->name == "yolov5");
  }
}

TEST(OpenRows, OfSeveralTensorsAreNoSquare) {
  const Tensor boxes{.values = std::vector<float>(size_t{896} * 16, 1.0f), .shape = {1, 896, 16}};
  const Tensor scores{.values = std::vector<float>(896, -5.0f), .shape = {1, 896, 1}};
  const std::vector<TensorView> views{boxes.view(), scores.view()};
  const auto family = [&](Size frame, bool open) {
    Settings settings;
    settings.frame.size = frame;
    settings.dynamic_rows = open;
    const auto plan = make_plan(settings, views);
    return plan ? std::string(plan->spec->name) : "";
  };
  EXPECT_EQ(family({640, 480}, false), "blazeface");
  EXPECT_EQ(family({640, 480}, true), "");
  EXPECT_EQ(family({128, 128}, true), "blazeface");
}

}  // namespace
}  // namespace openrows
}  // namespace keepbox
