// SPDX-License-Identifier: LGPL-2.1-or-later
// The parameters of a model's session, by properties and provider.
#include "gst/infer/settings.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

SessionSpec spec_of(const InferProps& props, const char* provider, Size size = {}) {
  auto spec = session_spec(props, {provider, "as set"}, size);
  EXPECT_TRUE(spec) << spec.error().message();
  return spec ? *spec : SessionSpec{};
}

/// The size distinguishes sessions, so it is left out where one session takes inputs of any size.
TEST(SessionSpec, HasOneSizeForBatchesAndGpus) {
  InferProps props;
  props.model_file = "model.onnx";
  props.input_width = 416, props.input_height = 320;
  const auto size_of = [&](const char* provider, Size size = {}) {
    const SessionSpec spec = spec_of(props, provider, size);
    return Size{spec.width, spec.height};
  };
  EXPECT_EQ(size_of("cpu"), Size{});
  EXPECT_EQ(size_of("cpu", {640, 384}), Size{});
  EXPECT_EQ(size_of("cuda"), (Size{416, 320}));
  EXPECT_EQ(size_of("tensorrt", {640, 384}), (Size{640, 384}));
  props.batch_size = 1;
  EXPECT_EQ(size_of("cpu"), Size{});
  props.batch_size = 2;
  EXPECT_EQ(size_of("cpu"), (Size{416, 320}));
  EXPECT_EQ(size_of("cpu", {640, 384}), (Size{640, 384}));
}

TEST(SessionSpec, UsesThreadsOnTheCpuAndTheDeviceOnGpus) {
  InferProps props;
  props.device_id = 3, props.threads = 5, props.max_in_flight = 4;
  const SessionSpec cpu = spec_of(props, "cpu"), cuda = spec_of(props, "cuda");
  const SessionSpec tensorrt = spec_of(props, "tensorrt");
  EXPECT_EQ(cpu.device, 0);
  EXPECT_EQ(cpu.threads, 5u);
  EXPECT_EQ(cpu.in_flight, 1u);
  EXPECT_FALSE(cpu.graph);
  EXPECT_EQ(cuda.device, 3);
  EXPECT_EQ(cuda.threads, 0u);
  EXPECT_EQ(cuda.in_flight, 4u);
  EXPECT_TRUE(cuda.graph);
  EXPECT_FALSE(tensorrt.graph);
}

TEST(SessionSpec, FindsBatchesOutOnCudaOnly) {
  EXPECT_EQ(spec_of({}, "cuda").batch.size, 0u);
  EXPECT_EQ(spec_of({}, "tensorrt").batch.size, 1u);
  EXPECT_EQ(spec_of({}, "cpu").batch.size, 1u);
}

TEST(SessionSpec, IgnoresOptionsIfTheCpuWasChosenAutomatically) {
  InferProps props;
  props.provider_options = "no-equals-sign";
  EXPECT_TRUE(session_spec(props, {"cpu", "no CUDA device"}));
  EXPECT_FALSE(session_spec(props, {"cuda", "a CUDA device"}));
  props.provider = "cpu";
  EXPECT_FALSE(session_spec(props, {"cpu", "as set"}));
}

}  // namespace
}  // namespace keepbox
