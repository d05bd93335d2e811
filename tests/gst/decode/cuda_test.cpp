// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements and tensors in CUDA memory: no copies, no early reads, one context for all.
#include <thread>

#include "tests/gst/decode/cuda.h"
#include "tests/gst/device.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::bits;
using test::Buffer;
using test::crowd;
using test::expected;
using test::frame_on;
using test::frame_on_host;
using test::Harness;
using test::kSmall;
using test::Routes;
using test::routes;
using test::stat_text;
using test::Tensor;

using Cuda = test::Gpu;

std::string write_crowd(const test::TempDir& dir, unsigned seed) {
  const Tensor tensor = crowd(seed);
  return dir.write(std::to_string(seed) + ".raw",
                   {reinterpret_cast<const char*>(tensor.values.data()), test::bytes_of(tensor)});
}

std::string replay_raw(const std::string& path) {
  return "tensorreplay memory=cuda loop=true dims=1,10,2100 tensor-id=yolo-v8-out location=" + path;
}

GstElement* named(Harness& h, const char* name) {
  GstElement* element = gst_bin_get_by_name(h.bin(), name);
  gst_object_unref(element);  // the bin holds it
  return element;
}

TEST_F(Cuda, GivesTheSameBoxesWithoutCopies) {
  const test::TempDir dir;
  Harness h("identity ! " + replay_raw(write_crowd(dir, 1)) + " ! boxdecode name=d", kSmall);
  const auto want = expected(crowd(1));
  EXPECT_EQ(bits(h.run(test::empty_frame().release())), want);
  EXPECT_EQ(routes(named(h, "d")), (Routes{0, 0, 1})) << "the first one is read for the plan";
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(bits(h.run(test::empty_frame().release())), want) << h.error();
  EXPECT_EQ(routes(named(h, "d")), (Routes{50, 0, 1}));
  EXPECT_EQ(stat_text(named(h, "d"), "backend"), "cuda");
  EXPECT_EQ(h.warning(), "");
}

TEST_F(Cuda, KeepsDeclaredTensorsOnTheDevice) {
  TensorProvenance source{.geometry = {{320, 320}, {320, 320}}, .detector = "yolov8"};
  for (const Units units : {Units::kPixels, Units::kAuto}) {
    source.units = units;
    const auto shared = std::make_shared<const TensorProvenance>(source);
    Harness h("boxdecode", kSmall);
    for (int i = 0; i < 3; ++i) {
      GstBuffer* frame = frame_on(context, crowd(5));
      set_provenance(gst_tensor_meta_get(gst_buffer_get_tensor_meta(frame), 0)->data, shared);
      ASSERT_EQ(bits(h.run(frame)), expected(crowd(5))) << h.error();
    }
    const Routes told_all{3, 0, 0}, units_open{2, 0, 1};
    EXPECT_EQ(routes(h.element()), units == Units::kPixels ? told_all : units_open);
  }
}

TEST_F(Cuda, WaitsForLateProducers) {
  const auto want = expected(crowd(2));
  for (const bool with_event : {false, true}) {
    for (const char* line : {"boxdecode", "boxdecode backend=reference"}) {
      SCOPED_TRACE(std::string(line) + (with_event ? ", event" : ", stream"));
      Harness h(line, kSmall);
      test::LateProducer producer(context, crowd(2), with_event);
      for (int i = 0; i < 50; ++i) {
        GstBuffer* frame = producer.frame();
        EXPECT_TRUE(producer.is_late());
        ASSERT_EQ(bits(h.run(frame)), want) << "frame " << i << " " << h.error();
      }
    }
  }
}

TEST_F(Cuda, CopiesForAForcedBackend) {
  const auto want = expected(crowd(3));
  Harness up("boxdecode backend=cuda", kSmall);
  Harness down("boxdecode backend=reference", kSmall);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(bits(up.run(frame_on_host(crowd(3)))), want) << up.error();
    ASSERT_EQ(bits(down.run(frame_on(context, crowd(3)))), want) << down.error();
  }
  EXPECT_EQ(routes(up.element()), (Routes{0, 10, 0}));
  EXPECT_EQ(routes(down.element()), (Routes{0, 0, 10}));
}

TEST_F(Cuda, TakesFramesWithTensorsInBothMemories) {
  // Further outputs of the model stay in their memory, and so do the boxes.
  for (const char* line : {"boxdecode", "boxdecode tensor-ids=yolo-v8-out"}) {
    SCOPED_TRACE(line);
    Harness h(line, kSmall);
    const Tensor other{std::vector<float>(10), {1, 10}, "features"};
    for (int i = 0; i < 5; ++i) {
      GstBuffer* frame = frame_on(context, crowd(4));
      test::attach(frame, other);
      EXPECT_EQ(bits(h.run(frame)), expected(crowd(4))) << h.error();
    }
    EXPECT_EQ(routes(h.element()), (Routes{4, 0, 1})) << "the first one is read for the plan";
  }
}

TEST_F(Cuda, TakesThresholdsWithoutReadingAgain) {
  Harness h("boxdecode", kSmall), reference("boxdecode backend=reference", kSmall);
  for (int i = 0; i < 8; ++i) {
    for (Harness* each : {&h, &reference}) {
      each->set("score-threshold", 0.3f + 0.05f * static_cast<float>(i), "iou-threshold",
                0.2f + 0.1f * static_cast<float>(i));
      each->set("include-classes", i % 2 == 0 ? "" : "!1,!2", "class-thresholds",
                i % 3 == 0 ? "3:0.9" : "", "min-size", i % 3 == 1 ? "20x20,2:40x1" : "", "regions",
                i >= 4 ? "0,0,0.5,1" : "");
    }
    const Buffer out = h.run(frame_on(context, crowd(5)));
    ASSERT_TRUE(out) << h.error();
    const Buffer want = reference.run(frame_on_host(crowd(5)));
    EXPECT_EQ(bits(out), bits(want)) << i;
  }
  EXPECT_EQ(routes(h.element()), (Routes{7, 0, 1}));
}

TEST_F(Cuda, ChangesMemoryInMidStream) {
  const auto want = expected(crowd(5));
  Harness h("boxdecode", kSmall);
  for (int i = 0; i < 6; ++i) {
    const bool host = i % 3 == 0;
    ASSERT_EQ(bits(h.run(host ? frame_on_host(crowd(5)) : frame_on(context, crowd(5)))), want);
    EXPECT_EQ(stat_text(h.element(), "backend") == "cuda", !host);
  }
  EXPECT_EQ(routes(h.element()), (Routes{2, 0, 2}));
}

void expect_one_context(const std::string& line, GstBuffer* frame) {
  Harness h(line, kSmall);
  ASSERT_TRUE(h.run(frame)) << h.error();
  EXPECT_NE(test::shared_context(named(h, "a")), nullptr);
  EXPECT_EQ(test::shared_context(named(h, "a")), test::shared_context(named(h, "b")));
}

TEST_F(Cuda, SharesOneContext) {
  const test::TempDir dir;
  expect_one_context("identity ! " + replay_raw(write_crowd(dir, 6)) + " ! boxdecode name=a ! " +
                         replay_raw(write_crowd(dir, 7)) + " ! boxdecode name=b",
                     test::empty_frame().release());
  expect_one_context(
      "boxdecode backend=cuda name=a ! tensorreplay loop=true dims=1,10,2100 "
      "tensor-id=yolo-v8-out location=" +
          write_crowd(dir, 8) + " ! boxdecode backend=cuda name=b",
      frame_on_host(crowd(6)));
}

TEST_F(Cuda, FollowsTheContextOfTheTensors) {
  const auto want = expected(crowd(7));
  const CudaContext other = CudaContext::taken(gst_cuda_context_new(0));
  Harness h("boxdecode", kSmall);
  for (int i = 0; i < 6; ++i) {
    const CudaContext& now = i / 2 % 2 == 0 ? context : other;
    ASSERT_EQ(bits(h.run(frame_on(now, crowd(7)))), want) << h.error();
    EXPECT_EQ(test::shared_context(h.element()), gst_cuda_context_get_handle(test::cast(now)));
  }
  EXPECT_EQ(routes(h.element()), (Routes{3, 0, 3}));
}

TEST_F(Cuda, FollowsCapsAndProperties) {
  const char* large = "video/x-raw,format=RGB,width=1280,height=720";
  Harness h("boxdecode model-size=320x320", kSmall);
  EXPECT_EQ(bits(h.run(frame_on(context, crowd(8)))), expected(crowd(8)));
  h.set_caps(large);
  const Buffer out = h.run(frame_on(context, crowd(8)));
  Harness host("boxdecode backend=reference model-size=320x320", large);
  EXPECT_EQ(bits(out), bits(host.run(frame_on_host(crowd(8)))));
  h.set("score-threshold", 0.9);
  host.set("score-threshold", 0.9);
  EXPECT_EQ(bits(h.run(frame_on(context, crowd(8)))), bits(host.run(frame_on_host(crowd(8)))));
  EXPECT_EQ(stat_text(h.element(), "backend"), "cuda");
}

/// Other processes may take memory of the card meanwhile. A leak takes some in each round.
TEST_F(Cuda, ReleasesAllDeviceMemory) {
  const test::TempDir dir;
  GstElement* pipeline = gst_parse_launch(
      (replay_raw(write_crowd(dir, 9)) + " loop=false ! boxdecode ! fakesink sync=false").c_str(),
      nullptr);
  GstContext* given = gst_context_new_cuda_context(test::cast(context));
  gst_element_set_context(pipeline, given);
  gst_context_unref(given);
  GstBus* bus = gst_element_get_bus(pipeline);
  const auto play = [&] {
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstMessage* end = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(GST_MESSAGE_TYPE(end), GST_MESSAGE_EOS);
    gst_message_unref(end);
    gst_element_set_state(pipeline, GST_STATE_NULL);
  };
  constexpr size_t kTolerance = size_t{1} << 20;
  for (int i = 0; i < 20; ++i) play();
  bool stays = false;
  for (int round = 0; round < 3 && !stays && !HasFatalFailure(); ++round) {
    const size_t before = free_memory();
    for (int i = 0; i < 1000 && !HasFatalFailure(); ++i) play();
    stays = free_memory() + kTolerance >= before;
  }
  EXPECT_TRUE(stays) << "less memory is free after each round";
  gst_object_unref(bus);
  gst_object_unref(pipeline);
}

TEST_F(Cuda, RunsSixteenPipelinesAtOnce) {
  const test::TempDir dir;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 16; ++i)
    threads.emplace_back([&dir, i] {
      const auto want = expected(crowd(i));
      Harness h("identity ! " + replay_raw(write_crowd(dir, i)) + " ! boxdecode name=d", kSmall);
      for (int frame = 0; frame < 50; ++frame)
        ASSERT_EQ(bits(h.run(test::empty_frame().release())), want) << h.error();
      EXPECT_EQ(routes(named(h, "d")), (Routes{49, 0, 1}));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Cuda, DecodesOnEveryDeviceOfAProcess) {
  int devices = 0;
  ASSERT_EQ(CuDeviceGetCount(&devices), CUDA_SUCCESS);
  if (devices < 2) GTEST_SKIP() << "one device";
  std::vector<std::unique_ptr<Harness>> harnesses;
  for (int id = 0; id < devices; ++id)
    harnesses.push_back(std::make_unique<Harness>(
        "boxdecode backend=cuda device-id=" + std::to_string(id), kSmall));
  for (unsigned frame = 0; frame < 20; ++frame) {
    const Tensor tensor = crowd(frame);
    const auto want = expected(tensor);
    for (const auto& h : harnesses)
      ASSERT_EQ(bits(h->run(frame_on_host(tensor))), want) << h->error();
  }
}

}  // namespace
}  // namespace keepbox
