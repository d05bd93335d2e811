// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of models on a GPU: the same as on the CPU, from frames on the host and on the device.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/tensors/cudascope.h"
#include "tests/gst/infer/ongpu.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::identity_model;
using test::InferOnGpu;
using test::Numbers;
using test::on_device;
using test::painted;
using test::raw;
using test::runs_on;
using test::tensor_of;

TEST_F(InferOnGpu, InputsMatchTheHosts) {
  for (const auto type : {test::onnx::Type::kFloat, test::onnx::Type::kUInt8}) {
    const auto model = identity_model({1, 3, 96, 160}, type);
    for (const char* format :
         {"RGB", "BGRx", "NV12", "I420", "GRAY8", "RGBP", "YUY2", "UYVY", "Y444"}) {
      const std::string caps = raw(format, 333, 517);
      Harness device(infer(model, "provider=cuda"), caps), host(infer(model, "provider=cpu"), caps);
      const Buffer a = device.run(painted(caps, test::noise)),
                   b = host.run(painted(caps, test::noise));
      ASSERT_TRUE(a && b) << device.error() << host.error();
      EXPECT_TRUE(runs_on(device, "cuda") && runs_on(host, "cpu"));
      EXPECT_EQ(tensor_of(a).values, tensor_of(b).values) << format;
    }
  }
}

/// Tiles in one batch, in several that are joined, and one after the other.
TEST_F(InferOnGpu, TilesMatchTheHosts) {
  const auto model = identity_model({"N", 3, 96, 160});
  for (const char* format : {"RGB", "NV12", "YUY2"}) {
    const std::string caps = raw(format, 640, 480);
    const Buffer frame(painted(caps, test::noise));
    const std::string tiles = "tiles=3x2+whole ";
    Harness host(infer(model, tiles + "provider=cpu"), caps);
    const Numbers want = tensor_of(host.run(gst_buffer_ref(frame.get())));
    ASSERT_EQ(want.dims[0], 7u) << host.error();
    for (const char* more : {"batch-size=0", "batch-size=2", "batch-size=4", "batch-size=1"}) {
      Harness device(infer(model, tiles + "provider=cuda " + more), caps);
      for (int i = 0; i < 4; ++i) {
        const bool there = i % 2 == 1;
        const Buffer out = device.run(there ? on_device(context, caps, frame, nullptr).release()
                                            : gst_buffer_ref(frame.get()));
        ASSERT_TRUE(out) << device.error();
        const Numbers got = tensor_of(out);
        EXPECT_EQ(got.dims, want.dims) << format << " " << more;
        EXPECT_EQ(got.values, want.values) << format << " " << more;
      }
      EXPECT_TRUE(runs_on(device, "cuda"));
    }
  }
}

/// Objects of frames that have a few, many or none, turned ones among them.
TEST_F(InferOnGpu, ObjectsMatchTheHosts) {
  const auto model = identity_model({"N", 3, 96, 160});
  const size_t counts[] = {1, 3, 0, 20, 2, 33, 7};
  for (const char* format : {"RGB", "NV12"}) {
    const std::string caps = raw(format, 640, 480);
    Harness host(infer(model, "regions=objects provider=cpu"), caps);
    Harness device(infer(model, "regions=objects provider=cuda"), caps);
    for (size_t run = 0; run < std::size(counts); ++run) {
      const Buffer plain(painted(caps, test::noise));
      const auto with_objects = [&](GstBuffer* frame) {
        std::vector<FrameBox> boxes;
        for (size_t i = 0; i < counts[run]; ++i) {
          const auto at = static_cast<float>(i * 13);
          boxes.push_back({.box = {at, at / 2, at + 90, at / 2 + 40},
                           .score = 0.5f,
                           .angle = i % 3 == 0 ? 0.4f : 0,
                           .label = g_quark_from_string("car")});
        }
        EXPECT_TRUE(attach_boxes(frame, boxes, {.frame = {640, 480}}));
        return frame;
      };
      const Buffer want = host.run(with_objects(gst_buffer_copy_deep(plain.get())));
      const Buffer got =
          device.run(with_objects(run % 2 == 1 ? on_device(context, caps, plain, nullptr).release()
                                               : gst_buffer_copy_deep(plain.get())));
      ASSERT_TRUE(want && got) << host.error() << device.error();
      const auto all = test::tensors_of(want.get()), there = test::tensors_of(got.get());
      ASSERT_EQ(all.size(), there.size());
      ASSERT_EQ(all.size(), counts[run] == 0 ? 0u : 1u);
      if (all.empty()) continue;
      EXPECT_EQ(all[0].dims[0], std::min<size_t>(counts[run], 32));
      EXPECT_EQ(all[0].dims, there[0].dims);
      EXPECT_EQ(all[0].values, there[0].values) << format << " " << counts[run];
    }
    EXPECT_TRUE(runs_on(device, "cuda"));
  }
}

/// Frames of the pipeline's context and of a different one, with a stream and without.
TEST_F(InferOnGpu, ReadsFramesWhereTheyAre) {
  const std::string caps = raw("NV12", 640, 360),
                    on_gpu = "video/x-raw(memory:CUDAMemory)" + caps.substr(strlen("video/x-raw"));
  const auto model = identity_model({1, 3, 96, 160});
  Harness host(infer(model, "provider=cpu"), caps);
  const Buffer expected = host.run(painted(caps, test::noise));
  ASSERT_TRUE(expected) << host.error();
  const Buffer frame(painted(caps, test::noise));
  for (const bool strange : {false, true})
    for (const bool streamed : {false, true}) {
      const auto primary = primary_context(0);
      ASSERT_TRUE(primary);
      const CudaContext& where = strange ? context : *primary;
      GstCudaStream* stream = streamed ? gst_cuda_stream_new(test::cast(where)) : nullptr;
      Harness h(infer(model, "provider=cuda"), on_gpu);
      for (int i = 0; i < 6; ++i) {
        const Buffer out = h.run(on_device(where, caps, frame, stream).release());
        ASSERT_TRUE(out) << h.error();
        EXPECT_EQ(tensor_of(out).values, tensor_of(expected).values) << strange << streamed;
      }
      g_clear_pointer(&stream, gst_cuda_stream_unref);
    }
}

/// Converters write into memory that the device reads itself, which changes no tensor.
TEST_F(InferOnGpu, OffersMemoryThatTheDeviceReads) {
  const std::string caps = raw("RGB", 333, 517), convert = "videoconvert ! video/x-raw,format=NV12";
  const auto model = identity_model({1, 3, 96, 160});
  Harness offered(convert + " ! " + infer(model, "provider=cuda"), caps);
  Harness dropped(convert + " ! identity drop-allocation=true ! " + infer(model, "provider=cuda"),
                  caps);
  const auto is_pinned = [](const Buffer& frame) {
    return gst_memory_is_type(gst_buffer_peek_memory(frame.get(), 0), "KeepboxPinnedMemory") != 0;
  };
  for (int i = 0; i < 8; ++i) {
    const auto picture = [&](int x, int y) { return test::noise(x + 31 * i, y); };
    const Buffer a = offered.run(painted(caps, picture)), b = dropped.run(painted(caps, picture));
    ASSERT_TRUE(a && b) << offered.error() << dropped.error();
    EXPECT_TRUE(is_pinned(a));
    EXPECT_FALSE(is_pinned(b));
    EXPECT_EQ(tensor_of(a).values, tensor_of(b).values) << i;
  }
}

/// Each tensor keeps its values when later ones are made, with graphs and without.
TEST_F(InferOnGpu, KeepsTensorsThatAreHeld) {
  const std::string caps = raw("RGB", 160, 96);
  for (const char* graph : {"", "provider=cuda provider-options=enable_cuda_graph=0"}) {
    Harness h(infer(identity_model({1, 3, 96, 160}), graph), caps);
    std::vector<Buffer> kept;
    for (int i = 0; i < 12; ++i) {
      const auto grey = static_cast<uint8_t>(i * 20);
      kept.push_back(h.run(painted(caps, [=](int, int) { return test::Pixel{grey, grey, grey}; })));
      ASSERT_TRUE(kept.back()) << h.error();
    }
    for (size_t i = 0; i < kept.size(); ++i)
      EXPECT_NEAR(tensor_of(kept[i]).values[7] * 255, static_cast<float>(i * 20), 1e-3) << graph;
  }
}

/// Operators such as Concat have page-locked memory, which the runtime returns after the last run.
/// KEEPBOX_TEST_SECONDS of sessions find more of what happens rarely.
TEST_F(InferOnGpu, SessionsEndAfterRunsWithPageLockedMemory) {
  using Clock = std::chrono::steady_clock;
  const char* set = std::getenv("KEEPBOX_TEST_SECONDS");
  const auto until = Clock::now() + std::chrono::seconds(set != nullptr ? std::atoi(set) : 5);
  const std::string caps = raw("RGB", 320, 240), model = test::ultralytics_like({320, 320}).file();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, path = dir_.write(std::to_string(i) + ".onnx", model)] {
      do {
        Harness h(
            "tensorinfer provider=cuda provider-options=enable_cuda_graph=0 model-file=" + path,
            caps);
        for (int frame = 0; frame < 3; ++frame)
          ASSERT_TRUE(h.run(painted(caps, test::noise))) << h.error();
      } while (Clock::now() < until);
    });
}

}  // namespace
}  // namespace keepbox
