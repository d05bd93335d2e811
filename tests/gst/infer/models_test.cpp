// SPDX-License-Identifier: LGPL-2.1-or-later
// Models in the style of several families: their boxes are right without any property.
#include "tests/gst/infer/models.h"
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::identity_model;
using test::InferModels;
using test::Numbers;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::tensor_of;
using test::tensors_of;

TEST_F(InferModels, UltralyticsNeedsNoProperty) {
  const std::string line = infer(test::ultralytics_like({320, 320})) + " ! boxdecode";
  for (const char* format : {"RGB", "BGR", "BGRx"}) {
    expect_boxes(line, format, 640, 360);
    expect_boxes(line, format, 333, 517);
  }
  expect_boxes(infer(test::ultralytics_like({192, 320})) + " ! boxdecode", "RGB", 640, 360);
}

TEST_F(InferModels, GiveTensorsTheirIdTypeAndShape) {
  const std::string caps = raw("RGB", 640, 360);
  Harness h(infer(test::ultralytics_like({320, 320})), caps);
  const Buffer out = h.run(painted(caps, patches({0, 0, 200, 200})));
  ASSERT_TRUE(out) << h.error();
  const Numbers tensor = tensor_of(out);
  EXPECT_EQ(tensor.id, "yolo-v8-out");
  EXPECT_EQ(tensor.type, DataType::kFloat32);
  EXPECT_EQ(tensor.dims, (std::vector<size_t>{1, 6, 2100}));
}

TEST_F(InferModels, DynamicSizeFromMetadata) {
  const auto model = test::ultralytics_like({192, 320}, true);
  expect_boxes(infer(model) + " ! boxdecode", "RGB", 640, 360);
  const std::string caps = raw("RGB", 640, 360);
  Harness h(infer(model), caps);
  EXPECT_EQ(tensor_of(h.run(painted(caps, test::grey))).dims, (std::vector<size_t>{1, 6, 1260}));
}

TEST_F(InferModels, DynamicSizeFromProperties) {
  const std::string props = "input-size=256x128";
  const auto model = test::ultralytics_like({192, 320}, true);
  expect_boxes(infer(model, props) + " ! boxdecode", "RGB", 640, 360);
  const std::string caps = raw("RGB", 64, 48);
  Harness h(infer(identity_model({"batch", 3, "height", "width"}), props), caps);
  const Buffer out = h.run(painted(caps, test::grey));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(tensor_of(out).dims, (std::vector<size_t>{1, 3, 128, 256}));
}

TEST_F(InferModels, YoloxUsesProperties) {
  const std::string labels = dir_.write("labels", "disc\nbar\n");
  const std::string props =
      "channel-order=bgr input-mean=0 input-std=1 resize-mode=letterbox-topleft";
  expect_boxes(infer(test::yolox_like({320, 320}), props) +
                   " ! boxdecode detector=yolox label-file=" + labels,
               "RGB", 640, 360);
}

TEST_F(InferModels, InputFollowsTheDecodersFamily) {
  const std::string labels = dir_.write("labels", "disc\nbar\n");
  for (const char* between : {"", "identity ! "})
    expect_boxes(infer(test::yolox_like({320, 320})) + " ! " + between +
                     "boxdecode detector=yolox label-file=" + labels,
                 "RGB", 333, 517);
}

/// Returns what was recognised, by the statistics of an element.
std::string recognised(Harness& h, const char* name) {
  g_autoptr(GstElement) element = gst_bin_get_by_name(h.bin(), name);
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  const gchar* text = gst_structure_get_string(stats, "recognized");
  return text != nullptr ? text : "";
}

TEST_F(InferModels, ATrialRunRevealsTheFamilyAndItsInput) {
  const std::string labels = dir_.write("labels", "disc\nbar\n");
  const std::string line =
      infer(test::yolox_like({320, 320}), "name=a") + " ! boxdecode name=b label-file=" + labels;
  expect_boxes(line, "RGB", 333, 517);
  const std::string caps = raw("RGB", 64, 64);
  Harness h(line, caps);
  ASSERT_TRUE(h.run(painted(caps, patches({8, 8, 40, 40})))) << h.error();
  test::expect_words(recognised(h, "a"), {"BGR, 0..255, letterbox-topleft", "by a trial run"});
  test::expect_words(recognised(h, "b"), {"as yolox"});
  EXPECT_EQ(h.warning(), "");
}

TEST_F(InferModels, UltralyticsMetadataGivesTheThresholdAndTheContract) {
  const std::string caps = raw("RGB", 64, 64);
  const std::string model = infer(test::ultralytics_like({320, 320}));
  const std::string declared = "nms-contract=ultralytics and iou-threshold=0.7 as declared";
  Harness bare(model + " ! boxdecode name=b", caps);
  ASSERT_TRUE(bare.run(painted(caps, test::grey))) << bare.error();
  test::expect_words(recognised(bare, "b"), {declared.c_str()});
  Harness set(model + " ! boxdecode name=b nms-contract=exact iou-threshold=0.5", caps);
  ASSERT_TRUE(set.run(painted(caps, test::grey))) << set.error();
  EXPECT_EQ(recognised(set, "b").find("nms-contract"), std::string::npos);
}

TEST_F(InferModels, OneDecoderAfterTwoModelsSetsTheInputOfNeither) {
  const std::string caps = raw("RGB", 64, 64), set = "detector=yolox";
  const std::string first = infer(test::yolox_like({64, 64}), "name=a") + " ! ";
  const std::string second =
      "tensorinfer name=b model-file=" + file(test::yolox_like({64, 64}), "b.onnx") + " ! ";
  const std::string decoder = "boxdecode on-mismatch=pass " + set;
  Harness alone(first + decoder, caps), both(first + second + decoder, caps);
  ASSERT_TRUE(alone.run(painted(caps, test::grey))) << alone.error();
  ASSERT_TRUE(both.run(painted(caps, test::grey))) << both.error();
  EXPECT_NE(recognised(alone, "a").find(set), std::string::npos) << recognised(alone, "a");
  for (const char* name : {"a", "b"})
    EXPECT_EQ(recognised(both, name).find(set), std::string::npos) << recognised(both, name);
}

TEST_F(InferModels, UndescribedModelIsAWarning) {
  const std::string caps = raw("RGB", 64, 48);
  Harness h(infer(identity_model({1, 3, 48, 64})), caps);
  ASSERT_TRUE(h.run(painted(caps, test::grey))) << h.error();
  test::expect_words(h.warning(),
                     {"assumed: RGB, 0..1, letterbox-center", "set detector= of boxdecode"});
  EXPECT_EQ(h.warning(), "");
  Harness set(infer(identity_model({1, 3, 48, 64}), "channel-order=rgb"), caps);
  ASSERT_TRUE(set.run(painted(caps, test::grey))) << set.error();
  EXPECT_EQ(set.warning(), "");
}

TEST_F(InferModels, DFineGetsTheSizeOfItsInput) {
  const std::string caps = raw("RGB", 640, 320);
  Harness h(infer(test::dfine_like({160, 320}), "resize-mode=stretch"), caps);
  const Buffer out = h.run(painted(caps, patches({64, 64, 256, 192}, {384, 128, 512, 256})));
  ASSERT_TRUE(out) << h.error();
  const auto tensors = tensors_of(out.get());
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].type, DataType::kInt64);
  EXPECT_EQ(tensors[0].dims, (std::vector<size_t>{1, 300}));
  EXPECT_EQ(tensors[1].dims, (std::vector<size_t>{1, 300, 4}));
  EXPECT_EQ(tensors[2].dims, (std::vector<size_t>{1, 300}));
  const float expected[] = {32, 32, 128, 96, 192, 64, 256, 128};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(tensors[1].values[i], expected[i], 0.6) << i;
  EXPECT_NEAR(tensors[2].values[0], 1, 0.01);
  EXPECT_EQ(tensors[0].values[1], 1);
}

TEST_F(InferModels, DFineAndPaddleNeedOnlyLabels) {
  const std::string decode = " ! boxdecode label-file=" + dir_.write("labels", "disc\nbar\n");
  for (const auto& model : {test::dfine_like({160, 320}), test::paddle_like({320, 320})}) {
    expect_boxes(infer(model) + decode, "RGB", 640, 360);
    expect_boxes(infer(model) + decode, "BGRx", 333, 517);
  }
}

TEST_F(InferModels, PaddleOutputsAnyNumberOfRows) {
  const std::string caps = raw("RGB", 640, 320);
  Harness h(infer(test::paddle_like({160, 320}), "resize-mode=stretch input-mean=0 input-std=255"),
            caps);
  const Rect red{64, 64, 256, 192}, blue{384, 128, 512, 256};
  for (const size_t found : {2, 0, 1, 2}) {
    const Buffer out =
        h.run(painted(caps, patches(found > 0 ? red : Rect{}, found > 1 ? blue : Rect{})));
    ASSERT_TRUE(out) << h.error();
    const auto tensors = tensors_of(out.get());
    ASSERT_EQ(tensors.size(), 2u) << found;
    EXPECT_EQ(tensors[0].dims, (std::vector<size_t>{found, 6}));
    EXPECT_EQ(tensors[1].type, DataType::kInt32);
    ASSERT_EQ(tensors[1].values.size(), 1u);
    EXPECT_EQ(tensors[1].values[0], static_cast<float>(found));
    if (found == 0) continue;
    const float row[] = {0, 1, 32, 32, 128, 96};
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(tensors[0].values[i], row[i], 0.6) << i;
  }
}

TEST_F(InferModels, SeveralOutputsKeepTheirOrder) {
  const std::string caps = raw("RGB", 48, 32);
  Harness h(infer(test::two_outputs_model({32, 48}), "input-mean=0 input-std=1 channel-order=rgb"),
            caps);
  const Buffer out = h.run(painted(caps, [](int, int) { return test::Pixel{10, 20, 30}; }));
  ASSERT_TRUE(out) << h.error();
  const auto tensors = tensors_of(out.get());
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].dims, (std::vector<size_t>{1, 3, 32, 48}));
  EXPECT_EQ(tensors[1].dims, (std::vector<size_t>{1, 3, 1, 1}));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(tensors[1].values[i], 10 * (static_cast<float>(i) + 1), 0.01);
}

TEST_F(InferModels, IntegerOutputsAreKept) {
  const std::string caps = raw("RGB", 48, 32);
  Harness h(infer(test::int64_output_model({32, 48}), "input-mean=0 input-std=1 channel-order=rgb"),
            caps);
  const Buffer out = h.run(painted(caps, test::noise));
  ASSERT_TRUE(out) << h.error();
  const Numbers tensor = tensor_of(out);
  EXPECT_EQ(tensor.type, DataType::kInt64);
  EXPECT_EQ(tensor.dims, (std::vector<size_t>{1, 3 * 32 * 48}));
  EXPECT_LT(apart(tensor, test::planes(test::noise, 48, 32, {48, 32, {0, 0, 48, 32}}), 1), 0.01f);
}

TEST_F(InferModels, NonNumericOutputsAreIgnored) {
  const std::string caps = raw("RGB", 64, 48);
  test::onnx::Model model = test::ultralytics_like({96, 96});
  test::add_odd_outputs(model);
  dir_.write("model.onnx.modelinfo",
             "[modelinfo]\nversion=1.0\n[words]\nid=words\ndir=output\ntype=float32\n");
  Harness h(infer(model, "name=infer") + " ! boxdecode", caps);
  const Buffer out = h.run(painted(caps, patches({16, 8, 48, 40})));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(tensors_of(out.get()).size(), 1u);
  EXPECT_TRUE(has_box(out, "disc", {16, 8, 48, 40}, 2));
  EXPECT_EQ(h.warning(), "");
  g_autoptr(GstElement) element = gst_bin_get_by_name(h.bin(), "infer");
  const std::string recognized = test::stat_text(element, "recognized");
  for (const char* output : {"ignored outputs", "words", "list", "nine 1x1x1x1x1x1x1x1x1 float32"})
    EXPECT_NE(recognized.find(output), std::string::npos) << output << ": " << recognized;
}

TEST_F(InferModels, NameTheModelinfoThatWasNotCopied) {
  test::onnx::Model model = identity_model({1, 3, 32, 48});
  model.metadata = {{"output", "yolo-v8-out"}};
  const std::string caps = raw("RGB", 48, 32);
  Harness h(infer(model), caps);
  ASSERT_TRUE(h.run(painted(caps, test::grey))) << h.error();
  const std::string warning = h.warning();
  for (const char* part : {"model.onnx has tensor ids, but no ", "model.onnx.modelinfo",
                           "assumed: RGB, 0..1, letterbox-center, pad 0", "input-std="})
    EXPECT_NE(warning.find(part), std::string::npos) << part << ": " << warning;
}

TEST_F(InferModels, UseIdAndRangesOfTheModelinfo) {
  const std::string caps = raw("RGB", 48, 32);
  dir_.write(
      "model.onnx.modelinfo",
      "[modelinfo]\nversion=1.0\ngroup-id=mine\n\n"
      "[images]\nid=mine-in\ntype=float32\ndims=1,3,32,48\ndir=input\nranges=-1.0,1.0\n\n"
      "[output]\nid=mine-out\ntype=float32\ndims=1,3,32,48\ndims-order=row-major\ndir=output\n");
  Harness h(infer(identity_model({1, 3, 32, 48}), "channel-order=rgb"), caps);
  const Buffer out = h.run(painted(caps, [](int, int) { return test::Pixel{0, 51, 255}; }));
  ASSERT_TRUE(out) << h.error();
  const Numbers tensor = tensor_of(out);
  EXPECT_EQ(tensor.id, "mine-out");
  ASSERT_EQ(tensor.values.size(), 3u * 32 * 48);
  const float expected[] = {-1, -0.6f, 1};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(tensor.values[i * 32 * 48], expected[i], 1e-4) << i;
}

}  // namespace
}  // namespace keepbox
