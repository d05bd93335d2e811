// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of several elements in one run have the tensors that they have alone.
#include <thread>

#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::identity_model;
using test::Numbers;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::tensor_of;
using test::tensors_of;

/// Returns a number of an element's stats.
double stat(GstElement* element, const char* field) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  GValue number = G_VALUE_INIT;
  g_value_init(&number, G_TYPE_DOUBLE);
  const GValue* value = gst_structure_get_value(stats, field);
  EXPECT_TRUE(value != nullptr && g_value_transform(value, &number)) << field;
  return g_value_get_double(&number);
}

/// Returns the red and blue rectangles of a stream's frame.
test::Paint scene(int stream, int frame) {
  const int left = 10 + 8 * stream, top = 5 + 4 * frame;
  return patches({left, top, left + 60 + 10 * stream, top + 40}, {200, 150, 260, 170 + 5 * stream});
}

class InferBatches : public test::Inference {
 protected:
  static constexpr int kStreams = 4, kFrames = 6;

  /// Returns all tensors of some streams' frames, run by elements of the same line in threads.
  std::vector<std::vector<Numbers>> run_streams(const std::string& line, int streams) {
    const std::string caps = raw("RGB", 320, 240);
    std::vector<std::vector<Numbers>> out(static_cast<size_t>(streams));
    std::vector<std::unique_ptr<Harness>> elements;
    for (int i = 0; i < streams; ++i) elements.push_back(std::make_unique<Harness>(line, caps));
    std::vector<std::jthread> threads;
    for (int i = 0; i < streams; ++i)
      threads.emplace_back([&, i] {
        for (int frame = 0; frame < kFrames; ++frame) {
          const Buffer buffer = elements[size_t(i)]->run(painted(caps, scene(i, frame)));
          ASSERT_TRUE(buffer) << elements[size_t(i)]->error();
          for (Numbers& each : tensors_of(buffer.get())) out[size_t(i)].push_back(std::move(each));
        }
      });
    threads.clear();
    batches_ = stat(elements[0]->element(), "batches");
    fill_ = stat(elements[0]->element(), "batch-fill");
    size_ = stat(elements[0]->element(), "batch-size");
    for (std::string text; !(text = elements[0]->warning()).empty();) warnings_ += text + "\n";
    return out;
  }

  void expect_same(const std::vector<std::vector<Numbers>>& all, const std::string& line) {
    for (int i = 0; i < kStreams; ++i) {
      const auto alone = run_one(line, i);
      ASSERT_EQ(all[size_t(i)].size(), alone.size());
      for (size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(all[size_t(i)][k].dims, alone[k].dims);
        EXPECT_EQ(all[size_t(i)][k].id, alone[k].id);
        EXPECT_EQ(all[size_t(i)][k].values, alone[k].values) << "stream " << i << " tensor " << k;
      }
    }
  }

  std::vector<Numbers> run_one(const std::string& line, int stream) {
    const std::string caps = raw("RGB", 320, 240);
    Harness h(line, caps);
    std::vector<Numbers> out;
    for (int frame = 0; frame < kFrames; ++frame)
      for (Numbers& each : tensors_of(h.run(painted(caps, scene(stream, frame))).get()))
        out.push_back(std::move(each));
    return out;
  }

  double batches_ = 0, fill_ = 0, size_ = 0;
  std::string warnings_;
};

const std::string kFourAtOnce = "batch-size=4 batch-timeout=2000 ";

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

TEST_F(InferBatches, AreNotOpenedIfThatIsOff) {
  // A GPU tries batches only once there is a second element.
  const std::string line = infer(test::ultralytics_like({320, 320}), "provider=cpu ");
  const auto all = run_streams(line + kFourAtOnce + "open-batch=false", kStreams);
  EXPECT_EQ(size_, 1);
  EXPECT_NE(warnings_.find("open-batch=true"), std::string::npos) << warnings_;
  expect_same(all, line);
}

/// Returns a model whose output is the mean of all pictures of a run.
test::onnx::Model mean_model(int64_t batch) {
  test::onnx::Model model = identity_model({batch, 3, 48, 64});
  model.outputs = {{"mean", test::onnx::Type::kFloat, {1, 3, 48, 64}}};
  model.nodes.clear();
  model.add("ReduceMean", {"images"}, {{"axes", std::vector<int64_t>{0}}}, "mean");
  return model;
}

TEST_F(InferBatches, AreNotRunIfPicturesShareAnOutput) {
  const std::string line = infer(mean_model(1));
  const auto all = run_streams(line + kFourAtOnce, kStreams);
  EXPECT_EQ(size_, 1);
  EXPECT_NE(warnings_.find("mean"), std::string::npos) << warnings_;
  expect_same(all, line);
}

TEST_F(InferBatches, AFixedBatchWithoutPartsPerPictureIsAnError) {
  const std::string error = test::play("videotestsrc num-buffers=1 ! video/x-raw,format=RGB ! " +
                                       infer(mean_model(4)) + " ! fakesink");
  EXPECT_NE(error.find("mean"), std::string::npos) << error;
  EXPECT_NE(error.find("4"), std::string::npos) << error;
}

/// Elements whose frames and means differ share the runs of a model.
TEST_F(InferBatches, OfDifferentFramesAndSettings) {
  const std::string path = file(identity_model({"n", 3, 48, 64}));
  const std::string line =
      "tensorinfer model-file=" + path + " batch-size=2 batch-timeout=2000 provider=cpu ";
  const std::string wide = raw("RGB", 64, 48), grey = raw("GRAY8", 32, 24);
  Harness one(line + "input-mean=10 input-std=2", wide), two(line + "input-std=255", grey);
  Buffer first, second;
  {
    std::jthread thread([&] { first = one.run(painted(wide, test::noise)); });
    second = two.run(painted(grey, [](int, int) -> test::Pixel { return {51, 51, 51}; }));
  }
  ASSERT_TRUE(first) << one.error();
  ASSERT_TRUE(second) << two.error();
  EXPECT_EQ(stat(one.element(), "batch-fill"), 2);
  const auto noise = test::planes(test::noise, 64, 48, {64, 48, {0, 0, 64, 48}});
  EXPECT_NEAR(tensor_of(first).values[5], (noise[5] - 10) / 2, 1e-4);
  EXPECT_NEAR(tensor_of(second).values[5], 0.2, 1e-6);
}

TEST_F(InferBatches, AFlushedStreamLeavesTheOthersTheirFrames) {
  const std::string caps = raw("RGB", 320, 240);
  const std::string line =
      infer(identity_model({"n", 3, 48, 64})) + "batch-size=3 batch-timeout=3000";
  Harness kept(line, caps), flushed(line, caps), late(line, caps);
  Buffer out, gone;
  {
    std::jthread waits([&] { out = kept.run(painted(caps, test::noise)); });
    std::jthread ends([&] { gone = flushed.run(painted(caps, test::noise)); });
    g_usleep(200000);
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
