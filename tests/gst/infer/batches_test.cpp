// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of several elements in one run have the tensors that they have alone.
#include <thread>

#include "tests/gst/infer/batched.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::identity_model;
using test::InferBatches;
using test::kFourAtOnce;
using test::Numbers;
using test::painted;
using test::raw;
using test::scene;
using test::stat;
using test::tensor_of;

TEST_F(InferBatches, OfADynamicModel) {
  // On a GPU an element takes part in batches from its first frame on, so their number varies.
  const std::string line = infer(test::ultralytics_like({192, 320}, true), "provider=cpu ");
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(size_, 4);
  EXPECT_EQ(batches_, kFrames);
  EXPECT_EQ(fill_, 4);
  expect_same(all, line);
}

TEST_F(InferBatches, OfAModelThatWasExportedForOnePicture) {
  const std::string line = infer(test::ultralytics_like({320, 320}));
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(size_, 4);
  EXPECT_EQ(fill_, 4);
  EXPECT_EQ(warnings_, "");
  expect_same(all, line);
}

/// Each picture has its own row of the sizes.
TEST_F(InferBatches, OfAModelWithInputsForSizes) {
  using test::onnx::Type;
  test::onnx::Model model = identity_model({1, 3, 48, 64});
  model.inputs.push_back({"orig_target_sizes", Type::kInt64, {1, 2}});
  model.outputs.push_back({"sizes", Type::kInt64, {1, 2}});
  model.add("Identity", {"orig_target_sizes"}, {}, "sizes");
  const std::string line = infer(model);
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(fill_, 4);
  expect_same(all, line);
  EXPECT_EQ(all[3][1].values, (std::vector<float>{64, 48}));
}

TEST_F(InferBatches, OfAFixedSizeAreFilledUp) {
  const std::string line = infer(identity_model({4, 3, 48, 64}));
  const auto all = run_streams(line, kStreams);
  EXPECT_EQ(size_, 4);
  EXPECT_GE(batches_, kFrames);
  expect_same(all, line);
  EXPECT_EQ(all[0][0].dims, (std::vector<size_t>{1, 3, 48, 64}));
}

/// Pictures of noise do not show it.
TEST_F(InferBatches, AreNotOpenedIfABrightPictureChangesTheOthers) {
  const std::string line = infer(test::mixing_model(), "provider=cpu input-std=255 ");
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(size_, 1);
  EXPECT_NE(warnings_.find("other values in a batch"), std::string::npos) << warnings_;
  expect_same(all, line);
}

/// Elements whose frames and means differ share the runs of a model.
TEST_F(InferBatches, OfDifferentFramesAndSettings) {
  const std::string path = file(identity_model({"n", 3, 48, 64}));
  const std::string line =
      "tensorinfer model-file=" + path + " batch-size=2 batch-timeout=2000 provider=cpu ";
  const std::string wide = raw("RGB", 64, 48), grey = raw("GRAY8", 32, 24);
  Harness one(line + "input-mean=10 input-std=2", wide), two(line + "input-std=255", grey);
  test::warm_up({&one, &two}, {wide, grey});
  const test::BatchesSince counts(one.element());
  Buffer first, second;
  {
    std::jthread thread([&] { first = one.run(painted(wide, test::noise)); });
    second = two.run(painted(grey, [](int, int) -> test::Pixel { return {51, 51, 51}; }));
  }
  ASSERT_TRUE(first) << one.error();
  ASSERT_TRUE(second) << two.error();
  EXPECT_EQ(counts.fill(), 2);
  const auto noise = test::planes(test::noise, 64, 48, {64, 48, {0, 0, 64, 48}});
  EXPECT_NEAR(tensor_of(first).values[5], (noise[5] - 10) / 2, 1e-4);
  EXPECT_NEAR(tensor_of(second).values[5], 0.2, 1e-6);
}

TEST_F(InferBatches, AFlushedStreamLeavesTheOthersTheirFrames) {
  const std::string caps = raw("RGB", 320, 240);
  const std::string line =
      infer(identity_model({"n", 3, 48, 64})) + "batch-size=3 batch-timeout=10000";
  Harness kept(line, caps), flushed(line, caps), late(line, caps);
  test::warm_up({&kept, &flushed, &late}, {caps});
  GstBuffer* frames[] = {painted(caps, test::noise), painted(caps, test::noise)};
  Buffer out, gone;
  {
    std::jthread waits([&] { out = kept.run(frames[0]); });
    std::jthread ends([&] { gone = flushed.run(frames[1]); });
    g_usleep(800000);  // until both are in the batch, on a busy machine too
    gst_harness_push_event(flushed.get(), gst_event_new_flush_start());
    ends.join();
    EXPECT_FALSE(gone);
    EXPECT_EQ(flushed.flow, GST_FLOW_FLUSHING);
    EXPECT_FALSE(out) << "it waits for a full batch";
    const Buffer third = late.run(painted(caps, test::noise));
    EXPECT_TRUE(third);
  }
  EXPECT_TRUE(out);
  EXPECT_EQ(flushed.error() + kept.error() + late.error(), "");
  EXPECT_EQ(stat(kept.element(), "batch-dropped"), 1);
}

TEST_F(InferBatches, ElementsComeAndGo) {
  const std::string line = infer(test::ultralytics_like({192, 320}, true)) + "batch-size=3";
  const std::string caps = raw("RGB", 320, 240);
  std::vector<std::vector<Numbers>> expected;
  for (int i = 0; i < kStreams; ++i) expected.push_back(run_one(line, i));
  const auto live = [&](int stream) {
    for (int life = 0; life < 5; ++life) {
      Harness h(line, caps);
      for (int frame = 0; frame < kFrames; ++frame) {
        const Buffer buffer = h.run(painted(caps, scene(stream, frame)));
        ASSERT_TRUE(buffer) << h.error();
        EXPECT_EQ(tensor_of(buffer).values, expected[size_t(stream)][size_t(frame)].values);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kStreams; ++i) threads.emplace_back(live, i);
}

}  // namespace
}  // namespace keepbox
