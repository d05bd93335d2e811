// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox.h next to the plugin in one process: each has its own copy of shared code.
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "tests/gst/api/api.h"
#include "tests/gst/api/api_c.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::api_boxes;
using test::Buffer;
using test::count_call;
using test::crowd;
using test::describe;
using test::Harness;
using test::kSmall;
using test::lend;
using test::Lent;
using test::refusal;
using test::Tensor;

// Runs first, so that the type of records is not registered yet.
TEST(Api, ReadsWhatThePluginWrites) {
  const Tensor tensor = crowd(1);
  const Buffer before = test::empty_frame();
  EXPECT_EQ(api_boxes(before).size(), 0u);
  Harness h("boxdecode", kSmall);
  const Buffer out = h.run(lend(describe(tensor)).release());
  ASSERT_TRUE(out) << h.error();
  const auto boxes = api_boxes(out);
  ASSERT_GT(boxes.size(), 20u);
  test::expect_same(boxes, test::boxes(out));
  bool floats = false;
  gfloat score = 1;
  for (size_t i = 0; i < boxes.size(); ++i) {
    gfloat x = 0;
    keepbox_box_get_rect(boxes[i], &x, nullptr, nullptr, nullptr);
    floats |= x != std::floor(x);
    EXPECT_GE(std::exchange(score, keepbox_box_get_score(boxes[i])),
              keepbox_box_get_score(boxes[i]));
  }
  EXPECT_TRUE(floats) << "boxes are those of the tensor, not rounded ones";
}

TEST(Api, MatchesReplay) {
  const test::TempDir dir;
  const Tensor tensor = crowd(2);
  const std::string path = dir.write(
      "t.raw", {reinterpret_cast<const char*>(tensor.values.data()), test::bytes_of(tensor)});
  Harness replay(
      "identity ! tensorreplay loop=true dims=1,10,2100 tensor-id=yolo-v8-out location=" + path +
          " ! boxdecode model-name=crowd",
      kSmall);
  Harness h("boxdecode model-name=crowd", kSmall);
  for (int i = 0; i < 3; ++i) {
    const Buffer want = replay.run(test::empty_frame().release());
    const Buffer got = h.run(lend(describe(tensor)).release());
    ASSERT_TRUE(want && got) << h.error();
    test::expect_same(api_boxes(got), test::boxes(want));
  }
}

TEST(Api, CopiesNothing) {
  const Tensor tensor = crowd(3);
  const Buffer frame = lend(describe(tensor));
  FrameTensors mapped;
  ASSERT_TRUE(mapped.list_tensors(frame.get()));
  ASSERT_TRUE(mapped.map_all());
  ASSERT_EQ(mapped.views().size(), 1u);
  EXPECT_EQ(mapped.views()[0].data, tensor.values.data());
  EXPECT_EQ(mapped.views()[0].id, "yolo-v8-out");
  EXPECT_EQ(mapped.views()[0].shape, tensor.shape);
  GstMapInfo info;
  auto* meta = reinterpret_cast<GstTensorMeta*>(
      gst_buffer_get_meta(frame.get(), gst_tensor_meta_api_get_type()));
  GstMemory* memory = gst_buffer_peek_memory(gst_tensor_meta_get(meta, 0)->data, 0);
  EXPECT_FALSE(gst_memory_map(memory, &info, GST_MAP_WRITE)) << "it is not GStreamer's to write to";
}

TEST(Api, TakesSeveralTensorsOfSeveralTypes) {
  Harness h("boxdecode tensor-ids=yolo-26-end2end-out");
  const std::vector<uint8_t> other(12);
  const Buffer frame =
      lend(describe(nullptr, GST_TENSOR_DATA_TYPE_UINT8, {3, 4}, other.data(), 12));
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  EXPECT_EQ(refusal(frame.get(), describe(rows)), "");
  const Buffer out = h.run(gst_buffer_ref(frame.get()));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(api_boxes(out).size(), 1u);
  EXPECT_STREQ(keepbox_box_get_label(api_boxes(out)[0]), "class-3");
}

TEST(Api, TakesTensorsWithoutElements) {
  int given_back = 0;
  const Lent empty = describe(nullptr, GST_TENSOR_DATA_TYPE_FLOAT32, {1, 0, 6}, nullptr, 0);
  for (const KeepboxMemory memory : {KEEPBOX_MEMORY_SYSTEM, KEEPBOX_MEMORY_CUDA}) {
    keepbox_tensor_info_set_memory(empty.info.get(), memory);
    given_back = 0;
    {
      const Buffer frame = lend(empty, count_call, &given_back);
      FrameTensors mapped;
      ASSERT_TRUE(mapped.list_tensors(frame.get()));
      ASSERT_TRUE(mapped.map_all());
      EXPECT_EQ(mapped.views()[0].bytes, 0u);
      EXPECT_EQ(given_back, 0);
    }
    EXPECT_EQ(given_back, 1);
  }
}

TEST(Api, ReleasesDataOnceAfterTheLastBuffer) {
  int given_back = 0;
  const Tensor tensor = crowd(4);
  Buffer frame = lend(describe(tensor), count_call, &given_back);
  const Buffer other(gst_buffer_ref(frame.get()));  // forces the element to make a copy
  Harness h("boxdecode", kSmall);
  Buffer out = h.run(frame.release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_NE(out, other);
  EXPECT_EQ(given_back, 0);
  out.reset();
  EXPECT_EQ(given_back, 0) << "the first buffer still has it";
  const_cast<Buffer&>(other).reset();
  EXPECT_EQ(given_back, 1);
}

TEST(Api, ReleasesDataWhenThePipelineIsDestroyed) {
  int given_back = 0;
  const Tensor tensor = crowd(4);
  {
    Harness h("boxdecode ! queue", kSmall);
    for (int i = 0; i < 3; ++i)
      gst_harness_push(h.get(), lend(describe(tensor), count_call, &given_back).release());
  }
  EXPECT_EQ(given_back, 3);
}

TEST(Api, TakesBuffersFromManyThreads) {
  const Tensor tensor = crowd(5);
  std::atomic<int> given_back = 0;
  const GDestroyNotify count = [](gpointer counter) { ++*static_cast<std::atomic<int>*>(counter); };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Harness h("boxdecode", kSmall);
      for (int j = 0; j < 5; ++j)
        EXPECT_GT(api_boxes(h.run(lend(describe(tensor), count, &given_back).release())).size(),
                  20u);
    });
  threads.clear();
  EXPECT_EQ(given_back, 40);
}

TEST(Api, HoldsBytesWhileABufferDoes) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  int given_back = 0;
  GBytes* bytes =
      g_bytes_new_with_free_func(rows.values.data(), test::bytes_of(rows), count_call, &given_back);
  Buffer frame = test::empty_frame();
  const Lent lent = describe(rows);
  g_autoptr(GError) error = nullptr;
  EXPECT_FALSE(keepbox_buffer_add_tensor_bytes(frame.get(), lent.info.get(), nullptr, nullptr));
  EXPECT_FALSE(keepbox_buffer_add_tensor_bytes(frame.get(), nullptr, bytes, nullptr));
  EXPECT_TRUE(keepbox_buffer_add_tensor_bytes(frame.get(), lent.info.get(), bytes, &error));
  keepbox_tensor_info_set_memory(lent.info.get(), KEEPBOX_MEMORY_CUDA);
  EXPECT_FALSE(keepbox_buffer_add_tensor_bytes(frame.get(), lent.info.get(), bytes, &error));
  EXPECT_NE(std::string(error->message).find("KEEPBOX_MEMORY_CUDA"), std::string::npos);
  g_bytes_unref(bytes);
  EXPECT_EQ(given_back, 0);
  frame.reset();
  EXPECT_EQ(given_back, 1);
}

TEST(Api, BuffersDoNotHoldDescriptions) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  Lent lent = describe(rows);
  std::vector<Buffer> frames;
  for (int i = 0; i < 3; ++i) frames.push_back(lend(lent));
  keepbox_tensor_info_set_memory(lent.info.get(), KEEPBOX_MEMORY_CUDA);
  lent.info.reset();
  Harness h("boxdecode");
  for (Buffer& frame : frames) {
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(api_boxes(out).size(), 1u);
  }
}

TEST(Api, IsUsableFromC) {
  Harness h("boxdecode model-name=rows");
  Buffer frame = test::empty_frame();
  g_autoptr(GError) error = nullptr;
  ASSERT_TRUE(api_c_add(frame.get(), &error)) << error->message;
  const Buffer out = h.run(frame.release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(api_c_check(out.get()));
}

TEST(Api, HeaderAndLibraryVersionsMatch) {
  EXPECT_STREQ(keepbox_version(), PACKAGE_VERSION);
  EXPECT_EQ(std::to_string(KEEPBOX_VERSION_MAJOR) + "." + std::to_string(KEEPBOX_VERSION_MINOR) +
                "." + std::to_string(KEEPBOX_VERSION_MICRO),
            PACKAGE_VERSION);
}

}  // namespace
}  // namespace keepbox
