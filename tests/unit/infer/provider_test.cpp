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
  props.input_size = "416x320";
  const auto size_of = [&](const char* provider, Size size = {}) {
    const SessionSpec spec = spec_of(props, provider, size);
    return Size{spec.width, spec.height};
  };
  EXPECT_EQ(size_of("cpu"), Size{});
  EXPECT_EQ(size_of("cpu", {640, 384}), Size{});
  EXPECT_EQ(size_of("cuda"), (Size{416, 320}));
  EXPECT_EQ(size_of("cuda", {640, 384}), (Size{640, 384}));
  props.batch_size = 1;
  EXPECT_EQ(size_of("cpu"), Size{});
  props.batch_size = 2;
  EXPECT_EQ(size_of("cpu"), (Size{416, 320}));
  EXPECT_EQ(size_of("cpu", {640, 384}), (Size{640, 384}));
}

TEST(SessionSpec, UsesThreadsOnTheCpuAndTheDeviceOnGpus) {
  InferProps props;
  props.device_id = 3, props.threads = 5;
  const SessionSpec cpu = spec_of(props, "cpu"), cuda = spec_of(props, "cuda");
  EXPECT_EQ(cpu.device, 0);
  EXPECT_EQ(cpu.threads, 5u);
  EXPECT_FALSE(cpu.graph);
  EXPECT_EQ(cuda.device, 3);
  EXPECT_EQ(cuda.threads, 0u);
  EXPECT_TRUE(cuda.graph);
  props.provider_options = "use_tf32=1,enable_cuda_graph=0";
  EXPECT_FALSE(spec_of(props, "cuda").graph);
}

TEST(SessionSpec, FindsBatchesOutOnCudaOnly) {
  EXPECT_EQ(spec_of({}, "cuda").batch.size, 0u);
  EXPECT_EQ(spec_of({}, "OpenVINO").batch.size, 1u);
  EXPECT_EQ(spec_of({}, "cpu").batch.size, 1u);
}

/// Texts that are settings of tiles, and what they mean.
TEST(TileGridText, IsAGridOrASideWithOverlapAndWhole) {
  const auto grid = [](const char* text) {
    InferProps props;
    props.tiles = text;
    auto out = tile_grid(props);
    EXPECT_TRUE(out) << out.error().message();
    return out ? *out : TileGrid{};
  };
  EXPECT_EQ(grid(""), TileGrid{});
  EXPECT_EQ(grid("3x2"), (TileGrid{.columns = 3, .rows = 2, .overlap = 0.2f}));
  EXPECT_EQ(grid("3x2+whole"), (TileGrid{.columns = 3, .rows = 2, .whole = true}));
  EXPECT_EQ(grid("640"), (TileGrid{.size = 640}));
  EXPECT_EQ(grid("640@0"), (TileGrid{.size = 640, .overlap = 0}));
  EXPECT_EQ(grid("4x3@0.25+whole"),
            (TileGrid{.columns = 4, .rows = 3, .overlap = 0.25f, .whole = true}));
}

TEST(ReinferText, HasFramesAndGrowth) {
  const auto rules = [](const char* text) {
    InferProps props;
    props.regions = static_cast<int>(Regions::kObjects);
    props.reinfer = text;
    auto out = object_rules(props);
    EXPECT_TRUE(out && *out) << text;
    return out && *out ? std::pair((*out)->again_every, (*out)->again_growth) : std::pair(9u, 9.f);
  };
  EXPECT_EQ(rules(""), std::pair(1u, 0.f));
  EXPECT_EQ(rules("0"), std::pair(0u, 0.f));
  EXPECT_EQ(rules("30, 1.5"), std::pair(30u, 1.5f));
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
