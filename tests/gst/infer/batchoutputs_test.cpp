// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of models whose outputs are not one part per picture.
#include "tests/gst/infer/batched.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::counting_model;
using test::Harness;
using test::identity_model;
using test::InferBatches;
using test::kFourAtOnce;
using test::selecting_model;

class InferBatchOutputs : public InferBatches {
 protected:
  std::string error_of(const test::onnx::Model& model) {
    return test::play("videotestsrc num-buffers=1 ! video/x-raw,format=RGB ! " + infer(model) +
                      " ! fakesink");
  }
  /// Checks that frames run one by one, with one warning that has all these words.
  void expect_single(const test::onnx::Model& model, std::initializer_list<const char*> words) {
    const std::string line = infer(model, "provider=cpu ");
    const auto all = run_streams(line + kFourAtOnce, kStreams);
    EXPECT_EQ(size_, 1);
    test::expect_words(warnings_, words);
    expect_same(all, line);
  }
};

/// Returns a model whose output is the mean of all pictures of a run.
test::onnx::Model mean_model(int64_t batch) {
  test::onnx::Model model = identity_model({batch, 3, 48, 64});
  model.outputs = {{"mean", test::onnx::Type::kFloat, {1, 3, 48, 64}}};
  model.nodes.clear();
  model.add("ReduceMean", {"images"}, {{"axes", std::vector<int64_t>{0}}}, "mean");
  return model;
}

TEST_F(InferBatchOutputs, AreNotRunIfPicturesShareAnOutput) {
  const std::string line = infer(mean_model(1));
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(size_, 1);
  EXPECT_NE(warnings_.find("mean"), std::string::npos) << warnings_;
  expect_same(all, line);
}

TEST_F(InferBatchOutputs, AFixedBatchWithoutPartsPerPictureIsAnError) {
  test::expect_words(error_of(mean_model(4)), {"mean", "batch of 4", "for one picture"});
}

TEST_F(InferBatchOutputs, CountsPerPictureAreTheFramesOwn) {
  const std::string line = infer(counting_model("n"), "provider=cpu ");
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(fill_, 4);
  EXPECT_EQ(all[1][0].dims, (std::vector<size_t>{1, 1}));
  EXPECT_EQ(all[1][0].values, std::vector<float>{8});
  expect_same(all, line);
}

TEST_F(InferBatchOutputs, TensorsDeclareWhetherTheirRowsAreDynamic) {
  const auto dynamic = [&](const test::onnx::Model& model) {
    const std::string caps = test::raw("RGB", 64, 48);
    Harness h(infer(model), caps);
    const Buffer out = h.run(test::painted(caps, test::noise));
    EXPECT_TRUE(out) << h.error();
    FrameTensors tensors;
    EXPECT_TRUE(out && tensors.list_tensors(out.get()));
    return !tensors.listed().empty() && tensors.source(0)->dynamic_rows;
  };
  EXPECT_TRUE(dynamic(selecting_model(1, 8))) << "nx3";
  EXPECT_FALSE(dynamic(identity_model({1, 3, 48, 64})));
  EXPECT_FALSE(dynamic(identity_model({test::onnx::Dim("N"), 3, 48, 64}))) << "the batch";
}

TEST_F(InferBatchOutputs, RowsOfAllPicturesAreNotRunTogether) {
  expect_single(selecting_model("n", 100), {"output selected", "batch-size=1"});
  expect_single(selecting_model(1, 100), {"output selected", "batch-size=1"});
}

/// There are as many rows as pictures, but their first column would be wrong for a frame.
TEST_F(InferBatchOutputs, RowsThatNumberThePicturesAreNotRunTogether) {
  expect_single(selecting_model("n", 1), {"output selected", "number of their picture"});
}

TEST_F(InferBatchOutputs, RowsOfAllPicturesOfAFixedBatchAreAnError) {
  test::expect_words(error_of(selecting_model(4, 100)), {"output selected", "for one picture"});
  test::expect_words(error_of(selecting_model(4, 1)),
                     {"output selected", "number of their picture"});
}

}  // namespace
}  // namespace keepbox
