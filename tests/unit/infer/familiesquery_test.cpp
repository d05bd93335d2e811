// SPDX-License-Identifier: LGPL-2.1-or-later
// Models with a size as a second input: DETRs and PaddleDetection.
#include "gst/infer/facts/exports.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gst/infer/run/inferencer.h"
#include "tests/unit/infer/declaration.h"

namespace keepbox {
namespace {

using test::error_of;
using test::facts_of;
using test::model;
using test::port;
using test::Three;

TEST(Families, IdentifyDetrsByTheirSizeInput) {
  ModelDeclaration declaration =
      model({-1, 3, 640, 640}, {port("labels", {-1, 300}, DataType::kInt64),
                                port("boxes", {-1, 300, 4}), port("scores", {-1, 300})});
  declaration.inputs.push_back(port("orig_target_sizes", {-1, 2}, DataType::kInt64));
  const ModelFacts facts = facts_of(declaration);
  ASSERT_EQ(facts.size_inputs.size(), 1u);
  EXPECT_EQ(facts.size_inputs[0].index, 1u);
  EXPECT_EQ(facts.size_inputs[0].kind, SizeInput::Kind::kWidthHeight);
  EXPECT_EQ(facts.resize, ResizeMode::kStretch);
  EXPECT_EQ(facts.input.deviation, (Three{255, 255, 255}));
  EXPECT_EQ(facts.detector, "detr-postprocess");
  EXPECT_EQ(facts.units, Units::kPixels);
  EXPECT_EQ(facts.outputs[0].id, "detr-labels");
  EXPECT_EQ(facts.outputs[1].id, "detr-boxes");
  EXPECT_EQ(facts.outputs[2].id, "detr-scores");
  // By shapes if exporters lost the names; the size is the first input.
  std::swap(declaration.inputs[0], declaration.inputs[1]);
  for (ModelPort& output : declaration.outputs) output.name = "x" + output.name;
  const ModelFacts unnamed = facts_of(declaration);
  EXPECT_EQ(unnamed.image_input, 1u);
  EXPECT_EQ(unnamed.size_inputs[0].index, 0u);
  EXPECT_EQ(unnamed.outputs[0].id, "detr-labels");
  EXPECT_EQ(unnamed.outputs[2].id, "detr-scores");
  // The first of two outputs that could be the boxes has their id.
  declaration.outputs.push_back(port("more", {-1, 300, 4}));
  EXPECT_EQ(facts_of(declaration).outputs[1].id, "detr-boxes");
  EXPECT_EQ(facts_of(declaration).outputs[3].id, "more");
  declaration.outputs.pop_back();
  declaration.outputs.pop_back();
  EXPECT_EQ(facts_of(declaration).detector, "");
  EXPECT_EQ(facts_of(declaration).outputs[1].id, "xboxes");
  declaration.inputs[0] = port("orig_target_sizes", {1, 3}, DataType::kInt64);
  EXPECT_SAID(error_of(declaration), "orig_target_sizes 1x3 int64");
  declaration.inputs[0] = port("orig_target_sizes", {1, 0}, DataType::kInt64);
  EXPECT_SAID(error_of(declaration), "orig_target_sizes 1x0 int64");
  declaration.inputs[0] = port("orig_target_sizes", {1, 2}, DataType::kFloat64);
  EXPECT_SAID(error_of(declaration), "float64");
}

TEST(Families, FillAPixelMaskWithOnes) {
  ModelDeclaration declaration =
      model({-1, 3, 320, 416}, {port("logits", {-1, 100, 92}), port("pred_boxes", {-1, 100, 4})});
  const ModelPort fixed = port("pixel_mask", {1, 64, 48}, DataType::kInt64);
  declaration.inputs.push_back(fixed);
  const ModelFacts facts = facts_of(declaration);
  ASSERT_EQ(facts.size_inputs.size(), 1u);
  EXPECT_EQ(facts.size_inputs[0].kind, SizeInput::Kind::kPixelMask);
  EXPECT_EQ(facts.detector, facts_of(model({-1, 3, 320, 416}, declaration.outputs)).detector);
  const auto ones = make_extra(fixed, SizeInput::Kind::kPixelMask, {416, 320}, 1);
  ASSERT_TRUE(ones) << ones.error().message();
  EXPECT_EQ(ones->dims, (std::vector<int64_t>{1, 64, 48}));
  std::vector<int64_t> values(64 * 48);
  ASSERT_EQ(ones->values.size(), values.size() * sizeof(int64_t));
  std::memcpy(values.data(), ones->values.data(), ones->values.size());
  EXPECT_EQ(values, std::vector<int64_t>(64 * 48, 1));
  const auto open = make_extra(port("pixel_mask", {-1, -1, -1}, DataType::kInt64),
                               SizeInput::Kind::kPixelMask, {416, 320}, 1);
  ASSERT_TRUE(open) << open.error().message();
  EXPECT_EQ(open->dims, (std::vector<int64_t>{1, 320, 416}));
  EXPECT_EQ(open->values.size(), 416 * 320 * sizeof(int64_t));
  EXPECT_FALSE(make_extra(fixed, SizeInput::Kind::kPixelMask, {48, 32}, 1));
}

TEST(Families, IdentifyPaddleByItsScale) {
  ModelDeclaration declaration =
      model({-1, 3, 640, 640}, {port("rows", {-1, 6}), port("count", {-1}, DataType::kInt32)});
  declaration.inputs[0].name = "image";
  declaration.inputs.insert(declaration.inputs.begin(), port("im_shape", {-1, 2}));
  declaration.inputs.push_back(port("scale_factor", {-1, 2}));
  const ModelFacts facts = facts_of(declaration);
  EXPECT_EQ(facts.image_input, 1u);
  ASSERT_EQ(facts.size_inputs.size(), 2u);
  EXPECT_EQ(facts.size_inputs[0].kind, SizeInput::Kind::kHeightWidth);
  EXPECT_EQ(facts.size_inputs[0].index, 0u);
  EXPECT_EQ(facts.size_inputs[1].kind, SizeInput::Kind::kScale);
  EXPECT_EQ(facts.size_inputs[1].index, 2u);
  EXPECT_EQ(facts.resize, ResizeMode::kStretch);
  EXPECT_EQ(facts.input.deviation, (Three{255, 255, 255}));
  EXPECT_EQ(facts.detector, "paddle");
  EXPECT_EQ(facts.units, Units::kPixels);
  EXPECT_EQ(facts.outputs[0].id, "paddle-rows");
  EXPECT_EQ(facts.outputs[1].id, "paddle-count");
  EXPECT_SAID(facts.assumed, "PP-YOLOE, PicoDet and PP-YOLO need input-mean=123.675");
  declaration.outputs = {port("count", {}, DataType::kInt32), port("rows", {-1, 7}),
                         port("more", {-1, 6})};
  const ModelFacts scalar = facts_of(declaration);
  EXPECT_EQ(scalar.outputs[0].id, "paddle-count") << "a number without dimensions";
  EXPECT_EQ(scalar.outputs[1].id, "rows") << "seven columns";
  EXPECT_EQ(scalar.outputs[2].id, "paddle-rows");
  declaration.outputs[0].type = DataType::kFloat32;
  EXPECT_EQ(facts_of(declaration).outputs[0].id, "count") << "not an integer";
  declaration.outputs = {port("a", {1, 8400, 4}), port("b", {1, 80, 8400})};
  EXPECT_EQ(facts_of(declaration).detector, "");
  EXPECT_SAID(facts_of(declaration).remark, "export the model with its NMS");
}

}  // namespace
}  // namespace keepbox
