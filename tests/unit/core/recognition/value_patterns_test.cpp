// SPDX-License-Identifier: LGPL-2.1-or-later
// Value patterns of rows that identify a family if shapes are ambiguous, or a model without boxes.
#include "core/recognition/value_patterns.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/dense.h"
#include "tests/unit/core/recognition/patterns.h"

namespace keepbox {
namespace signs {
namespace {

using test::dense;

/// Corners inside of 320x320, a score, a class.
Tensor sorted(size_t count, uint32_t classes) {
  return rows(count, 6, [&](size_t row, size_t column) {
    const auto at = static_cast<float>(10 + row % 30 * 8);
    if (column < 2) return at;
    if (column < 4) return at + 20 + static_cast<float>(row % 5);
    return column == 4 ? 0.9f - static_cast<float>(row) * 0.001f
                       : static_cast<float>(row % classes);
  });
}

Tensor queries(size_t count, size_t columns, bool sorted_out) {
  std::mt19937 random(4);
  return rows(count, columns, [&](size_t row, size_t column) {
    if (column < 2) return uniform_number(random, 0.1f, 0.9f);
    if (column < 4) return uniform_number(random, 0.01f, 0.3f);
    return sorted_out && column == 5 ? static_cast<float>(row % 3)
                                     : uniform_number(random, 0, 0.5f);
  });
}

TEST(ValuePatterns, IdentifyYoloxByItsOffsets) {
  for (const size_t classes : {1, 6, 18, 80}) expect_family({yolox(2100, classes)}, "yolox");
}

TEST(ValuePatterns, LeaveDecodedRowsAmbiguous) {
  // Rows of YOLOv8 with 18 classes, not 17 classes and an objectness.
  const std::string error = error_of({dense({.anchors = 2100, .classes = 18, .rows = true})});
  expect_words(error,
               {"yolox-decoded (17 classes)", "yolov8 (18 classes)", "set detector=",
                "channel-order=bgr input-mean=0 input-std=1 resize-mode=letterbox-topleft for "
                "yolox-decoded",
                "channel-order=rgb input-mean=0 input-std=255 resize-mode=letterbox-center for "
                "yolov8, yolov5"});
}

/// 85 columns are an objectness and the classes of COCO, or 81 classes.
TEST(ValuePatterns, LeaveDecodedRowsOfCocoAmbiguous) {
  const Tensor decoded = dense({.anchors = 2100, .classes = 81, .rows = true});
  expect_words(error_of({decoded}), {"yolox-decoded (80 classes)", "yolov8 (81 classes)",
                                     "set detector=", "channel-order=bgr"});
  expect_family({decoded}, "yolox-decoded", Basis::kShape, {.label_count = 80});
  expect_family({yolox(2100, 80)}, "yolox");
}

TEST(ValuePatterns, IdentifyYolov6ByItsObjectness) {
  Tensor ones = dense({.anchors = 2100, .classes = 19, .rows = true});
  for (size_t i = 4; i < ones.values.size(); i += 23) ones.values[i] = 1;
  expect_family({ones}, "yolov6");
}

TEST(ValuePatterns, IdentifyEndToEndRows) {
  // 21, 84 and 189 are numbers of cells of inputs with one anchor per cell, 63 and 252 with three.
  for (const size_t count : {1, 5, 21, 63, 84, 189, 252, 300})
    for (const uint32_t classes : {1u, 2u, 80u}) expect_family({sorted(count, classes)}, "yolov10");
}

TEST(ValuePatterns, DistinguishQueriesFromCorners) {
  expect_family({queries(300, 6, true)}, "rtdetr-ultralytics-rows");
  expect_family({queries(300, 84, false)}, "rtdetr-ultralytics");
  expect_family({queries(300, 9, false)}, "rtdetr-ultralytics");
  const auto plan = plan_of({queries(300, 6, true)});
  EXPECT_EQ(plan->rules.method, NmsMethod::kNone);
  EXPECT_EQ(plan->rules.boxes.unit_x, 320);
}

TEST(ValuePatterns, DistinguishSoftmaxFromSigmoids) {
  const auto detr = [](float nothing) {
    std::mt19937 random(5);
    Tensor logits = rows(300, 6, [&](size_t, size_t column) {
      return column == 5 ? nothing : uniform_number(random, -8, -3);
    });
    logits.id = "logits";
    Tensor boxes = queries(300, 4, false);
    boxes.id = "pred_boxes";
    return std::vector<Tensor>{logits, boxes};
  };
  expect_family(detr(4), "detr", Basis::kNamed);
  expect_family(detr(-7), "rt-detr", Basis::kNamed);
}

TEST(ValuePatterns, IdentifyConditionalDetrByItsClasses) {
  const auto of = [](size_t classes) {
    Tensor logits = rows(300, classes, [](size_t, size_t) { return -4.0f; });
    logits.id = "logits";
    Tensor boxes = queries(300, 4, false);
    boxes.id = "pred_boxes";
    return std::vector<Tensor>{logits, boxes};
  };
  // Not certain, because any RT-DETR may have as many classes.
  expect_family(of(91), "conditional-detr", Basis::kShape);
  expect_family(of(80), "rt-detr", Basis::kNamed);
  std::vector<Tensor> unnamed = of(91);
  for (Tensor& tensor : unnamed) tensor.id.clear();
  expect_family(unnamed, "conditional-detr", Basis::kShape);
}

TEST(ValuePatterns, IgnoreBlankRows) {
  const auto blank = [](size_t count, size_t columns) {
    return rows(count, columns, [](size_t, size_t) { return 0.0f; });
  };
  EXPECT_EQ(pattern_of(blank(300, 6).view(), 300, 6), ValuePattern::kNone);
  EXPECT_EQ(pattern_of(blank(2100, 23).view(), 2100, 23), ValuePattern::kNone);
  TensorView unread = blank(300, 6).view();
  unread.data = nullptr;
  EXPECT_EQ(pattern_of(unread, 300, 6), ValuePattern::kNone);
  Tensor odd = sorted(20, 2);
  odd.values[6] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(pattern_of(odd.view(), 20, 6), ValuePattern::kNone);
}

TEST(ValuePatterns, NameTasksWithoutBoxes) {
  const auto of = [](Shape shape) {
    Tensor out{.values = {}, .shape = shape};
    out.values.assign(shape.count().value_or(0), 0.0f);
    return out;
  };
  expect_words(error_of({of({1, 1, 320, 320})}), {"a text detector", "an object detection model"});
  expect_words(error_of({of({1, 1000})}), {"a classifier with 1000 classes"});
  Tensor text = of({1, 40, 97});
  for (size_t i = 0; i < text.values.size(); i += 97) text.values[i] = 1;
  expect_words(error_of({text}), {"a text recogniser"});
  const auto expect_another = [](const Tensor& tensor, const char* task) {
    const std::string error = error_of({tensor});
    EXPECT_NE(error, "");
    EXPECT_FALSE(error.contains(task)) << error;
  };
  text.values.back() = 1;
  expect_another(text, "a text recogniser");
  expect_another(of({1, 1, 8, 32}), "a text detector");
  expect_another(of({1, 1, 16, 80}), "a text detector");
}

/// Values of end-to-end rows after the score and the class.
using PayloadValue = float (*)(size_t);

Tensor ready_rows(size_t columns, PayloadValue payload) {
  return rows(300, columns, [&](size_t row, size_t column) {
    const auto at = static_cast<float>(10 + row % 30 * 8);
    if (column < 2) return at;
    if (column < 4) return at + 20;
    if (column == 4) return 0.9f - static_cast<float>(row) * 0.001f;
    return column == 5 ? static_cast<float>(row % 3) : payload(column - 6);
  });
}

float point(size_t value) { return value % 3 == 2 ? 0.5f : 100.0f; }
float angle(size_t) { return 0.25f; }
float large(size_t) { return 77.0f; }
float zero(size_t) { return 0; }

/// They are not recognised, because other rows may look like them.
TEST(ValuePatterns, ProposeRowsWithAPayload) {
  expect_words(error_of({ready_rows(6 + 51, point)}),
               {"1x300x57 float32, which fits yolo26-pose:", "set detector=yolo26-pose if"});
  for (const size_t points : {1, 5, 12, 21})
    expect_words(error_of({ready_rows(6 + 3 * points, point)}), {"which fits yolo26-pose:"});
  expect_words(error_of({ready_rows(7, angle)}), {"which fits yolo26-obb:", "detector=yolo26-obb"});
  Settings one_class;
  one_class.label_count = 1;
  const auto labelled = plan_of({ready_rows(6 + 51, point)}, one_class);
  ASSERT_FALSE(labelled);
  expect_words(labelled.error().message(), {"which fits yolo26-pose:"});
}

TEST(ValuePatterns, ProposeNoPayloadForOtherRows) {
  const auto expect_none = [](const Tensor& tensor) {
    const std::string error = error_of({tensor});
    EXPECT_NE(error, "");
    EXPECT_FALSE(error.contains("yolo26")) << error;
  };
  for (const size_t columns : {57, 42, 30, 7}) expect_none(ready_rows(columns, large));
  expect_none(ready_rows(6 + 16, point));
  expect_none(ready_rows(7, zero));
  expect_none(rows(384, 384, [](size_t row, size_t) { return row > 99 ? 15.0f : 0.0f; }));
  const auto with = [](size_t column, float value) {
    Tensor out = ready_rows(6 + 51, point);
    for (size_t row = 0; row < 300; ++row) out.values[row * 57 + column] = value;
    return out;
  };
  expect_none(with(2, 3));     // left of x1
  expect_none(with(3, 3));     // above y1
  expect_none(with(4, 0));     // no object
  expect_none(with(4, 1.5f));  // no probability
  expect_none(with(5, 0.5f));
  expect_none(with(5, -7));
  expect_none(with(5, 1e6f));
  expect_none(rows(100, 57, [](size_t, size_t) { return -1.0f; }));
}

TEST(ValuePatterns, SumEveryRow) {
  const auto sum_to_one = [](std::vector<float> values) {
    const Tensor rows{.values = std::move(values), .shape = {3, 3}};
    return adds_to_one(rows.view(), 3, 3);
  };
  EXPECT_TRUE(sum_to_one({1, 0, 0, 0.5f, 0.25f, 0.25f, 0, 0.125f, 0.875f}));
  EXPECT_FALSE(sum_to_one({1, 0, 0, 0.5f, 0.25f, 0.5f, 0, 0.125f, 0.875f})) << "the second row";
  EXPECT_FALSE(sum_to_one({1, 0, 0, 0.5f, 0.25f, 0.25f, 0, 0, 0.875f})) << "the last row";
  EXPECT_FALSE(sum_to_one({1, 0, 0, 0.5f, 0.75f, -0.25f, 0, 0.125f, 0.875f})) << "below 0";
}

}  // namespace
}  // namespace signs
}  // namespace keepbox
