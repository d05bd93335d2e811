// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of a set family: their order, names and shapes.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Tensor;

Tensor zeros(Shape shape, const char* id) {
  return {std::vector<float>(shape.count().value_or(0)), shape, id};
}

TEST(Fit, FindsTheCountOfRowsBeforeTheRows) {
  Tensor rows = zeros({3, 6}, "paddle-rows");
  for (size_t row = 0; row < 3; ++row)
    std::ranges::copy(std::initializer_list<float>{0, 0.9f, 20.0f * static_cast<float>(row), 0,
                                                   20.0f * static_cast<float>(row) + 9, 9},
                      rows.values.begin() + static_cast<ptrdiff_t>(row * 6));
  Tensor count = zeros({1}, "paddle-count");
  count.values = {2};
  Settings settings = test::pixel_settings(64);
  settings.detector = "paddle";
  for (const bool first : {true, false}) {
    std::vector<TensorView> views{count.view(), rows.view()};
    if (!first) std::swap(views[0], views[1]);
    const auto found = test::detect(settings, views);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(test::anchors_of(*found), (std::vector<uint32_t>{0, 1})) << first;
  }
}

TEST(Fit, RefusesIndicesAndBoxesOfOtherShapes) {
  struct Shapes {
    Shape rows{4, 3}, boxes{1, 7, 4}, scores{1, 2, 7};
  };
  const auto fits = [](const std::function<void(Shapes&)>& change) {
    Shapes shapes;
    change(shapes);
    const Tensor tensors[] = {zeros(shapes.rows, "selected_indices"), zeros(shapes.boxes, "boxes"),
                              zeros(shapes.scores, "scores")};
    const TensorView views[] = {tensors[0].view(), tensors[1].view(), tensors[2].view()};
    Settings settings = test::pixel_settings(64);
    settings.detector = "onnx-nms";
    return make_plan(settings, views).has_value();
  };
  EXPECT_TRUE(fits([](Shapes&) {}));
  EXPECT_TRUE(fits([](Shapes& s) { s.scores = {1, 7, 2}; })) << "rows of scores";
  EXPECT_TRUE(fits([](Shapes& s) { s.rows = {1, 4, 3}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.rows = {4}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.rows = {2, 4, 3}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.rows = {4, 2}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.rows = {4, 4}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.boxes = {4}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.boxes = {1, 7, 5}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.scores = {7}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.scores = {2, 2, 7}; }));
  EXPECT_FALSE(fits([](Shapes& s) { s.scores = {1, 2, 8}; }));
}

TEST(Fit, UsesGenericNamesOnlyTogether) {
  auto spec = std::make_shared<DetectorSpec>(*find_detector("onnx-nms"));
  spec->tensors[0].ids = {"own-indices"};
  spec->tensors[1].ids = {"own-boxes"};
  spec->tensors[2].ids = {"own-scores"};
  const auto fits = [&](const char* indices, const char* boxes, const char* scores) {
    const Tensor tensors[] = {zeros({4, 3}, indices), zeros({1, 7, 4}, boxes),
                              zeros({1, 2, 7}, scores)};
    const TensorView views[] = {tensors[0].view(), tensors[1].view(), tensors[2].view()};
    Settings settings = test::pixel_settings(64);
    settings.family = spec;
    return make_plan(settings, views).has_value();
  };
  EXPECT_TRUE(fits("own-indices", "own-boxes", "own-scores"));
  EXPECT_TRUE(fits("selected_indices", "boxes", "scores"));
  EXPECT_FALSE(fits("own-indices", "boxes", "scores"));
  EXPECT_FALSE(fits("selected_indices", "boxes", "own-scores"));
}

}  // namespace
}  // namespace keepbox
