// SPDX-License-Identifier: LGPL-2.1-or-later
// Model files that are replaced.
#include <cstring>

#include "tests/gst/infer/infer.h"
#include "tests/gst/infer/player.h"

namespace keepbox {
namespace {

using test::identity_model;
using test::InferLifecycle;
using test::kRedSrc;
using test::Player;

TEST_F(InferLifecycle, LoadsAnotherModelAfterARestart) {
  const std::string other = file(identity_model({1, 3, 16, 24}), "other.onnx");
  Player line(kRedSrc + infer(identity_model({1, 3, 32, 32}), "name=infer") +
              " ! fakesink name=out");
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  EXPECT_EQ(tensor_of(line.last("out")).dims, (std::vector<size_t>{1, 3, 32, 32}));
  ASSERT_TRUE(line.to(GST_STATE_READY));
  g_autoptr(GstElement) element = line.get("infer");
  g_object_set(element, "model-file", other.c_str(), nullptr);
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  EXPECT_EQ(tensor_of(line.last("out")).dims, (std::vector<size_t>{1, 3, 16, 24}));
}

TEST_F(InferLifecycle, ReloadsAReplacedFile) {
  Player line(kRedSrc + infer(identity_model({1, 3, 32, 32})) + " ! fakesink name=out");
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  ASSERT_TRUE(line.to(GST_STATE_NULL));
  file(identity_model({1, 3, 16, 24}));
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  EXPECT_EQ(tensor_of(line.last("out")).dims, (std::vector<size_t>{1, 3, 16, 24}));
}

/// Retraining may keep the size, and containers, copies and archives keep or truncate times.
TEST_F(InferLifecycle, ReloadsAFileReplacedWhileRunning) {
  const auto write = [&](const test::onnx::Model& model, const std::string& name) {
    const std::string path = file(model, name);
    std::filesystem::last_write_time(path, {});
    return path;
  };
  const std::string path = write(identity_model({1, 3, 32, 32}), "model.onnx");
  const std::string line = kRedSrc + "tensorinfer model-file=" + path + " ! fakesink name=out";
  Player first(line);
  ASSERT_TRUE(first.to(GST_STATE_PLAYING));
  const auto dims = [&] {
    Player again(line);
    EXPECT_TRUE(again.to(GST_STATE_PAUSED));
    return tensor_of(again.last("out")).dims;
  };
  const auto bytes = std::filesystem::file_size(path);
  std::filesystem::rename(write(identity_model({1, 3, 16, 64}), "new.onnx"), path);
  EXPECT_EQ(dims(), (std::vector<size_t>{1, 3, 16, 64}));
  write(identity_model({1, 3, 64, 16}), "model.onnx");
  EXPECT_EQ(dims(), (std::vector<size_t>{1, 3, 64, 16}));
  EXPECT_EQ(std::filesystem::file_size(path), bytes);
}

TEST_F(InferLifecycle, ReloadsWeightsReplacedWhileRunning) {
  const auto write = [&](float weight) {
    std::string bytes(size_t{3} * 32 * 32 * 4, '\0');
    for (size_t at = 0; at < bytes.size(); at += 4) std::memcpy(&bytes[at], &weight, 4);
    std::filesystem::rename(dir_.write("new.bin", bytes), dir_ / "weights.bin");
  };
  write(1);
  const std::string line = kRedSrc + infer(test::external_data_model()) + " ! fakesink name=out";
  const auto last = [](Player& player) { return tensor_of(player.last("out")).values.back(); };
  Player first(line);
  ASSERT_TRUE(first.to(GST_STATE_PAUSED));
  const float before = last(first);
  write(2);
  Player second(line);
  ASSERT_TRUE(second.to(GST_STATE_PAUSED));
  EXPECT_FLOAT_EQ(last(second), before + 1);
}

}  // namespace
}  // namespace keepbox
