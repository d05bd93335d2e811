// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox.h beside the plugin in one process: each has its own copy of the code that they share.
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/gst/api.h"
#include "tests/gst/api_c.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::api_boxes;
using test::Buffer;
using test::count_call;
using test::crowd;
using test::describe;
using test::Harness;
using test::lend;
using test::refusal;
using test::Tensor;

constexpr const char* kSmall = "video/x-raw,format=RGB,width=320,height=320";

// The first test, so that nothing has registered the boxes' meta when it begins.
TEST(Api, ReadsWhatThePluginWrites) {
  const Tensor tensor = crowd(1);
  const Buffer before = test::empty_frame();
  EXPECT_EQ(keepbox_buffer_get_boxes(before.get(), nullptr, 0), 0u);
  Harness h("boxdecode", kSmall);
  const Buffer out = h.run(lend(describe(tensor)).release());
  ASSERT_TRUE(out) << h.error();
  const std::vector<KeepboxBox> boxes = api_boxes(out);
  EXPECT_GT(boxes.size(), 20u);
  test::expect_same(boxes, test::boxes(out));
  EXPECT_TRUE(std::ranges::any_of(boxes, [](const KeepboxBox& b) {
    return b.x != std::floor(b.x);
  })) << "boxes are those of the tensor, not rounded ones";
  EXPECT_TRUE(std::ranges::is_sorted(boxes, std::greater{}, &KeepboxBox::score));
}

TEST(Api, GivesTheBoxesOfReplay) {
  const test::TempDir dir;
  const Tensor tensor = crowd(2);
  const std::string path = dir.write(
      "t.raw", {reinterpret_cast<const char*>(tensor.values.data()), test::bytes_of(tensor)});
  Harness replay(
      "identity ! tensorreplay loop=true dims=1,10,2100 tensor-id=yolo-v8-out location=" + path +
          " ! boxdecode",
      kSmall);
  Harness h("boxdecode", kSmall);
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
  ASSERT_TRUE(mapped.look(frame.get()));
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
  const Buffer frame = lend({.data_type = GST_TENSOR_DATA_TYPE_UINT8,
                             .n_dims = 2,
                             .dims = {3, 4},
                             .data = other.data(),
                             .size = 12});
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const KeepboxTensor tensor = describe(rows);
  EXPECT_EQ(refusal(frame.get(), &tensor), "");
  const Buffer out = h.run(gst_buffer_ref(frame.get()));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(api_boxes(out).size(), 1u);
  EXPECT_STREQ(api_boxes(out)[0].label, "class-3");
}

TEST(Api, TakesTensorsWithoutElements) {
  int given_back = 0;
  const KeepboxTensor empty{
      .data_type = GST_TENSOR_DATA_TYPE_FLOAT32, .n_dims = 3, .dims = {1, 0, 6}};
  for (const KeepboxMemory memory : {KEEPBOX_MEMORY_SYSTEM, KEEPBOX_MEMORY_CUDA}) {
    KeepboxTensor tensor = empty;
    tensor.memory = memory;
    given_back = 0;
    {
      const Buffer frame = lend(tensor, count_call, &given_back);
      FrameTensors mapped;
      ASSERT_TRUE(mapped.look(frame.get()));
  ASSERT_TRUE(mapped.map_all());
      EXPECT_EQ(mapped.views()[0].bytes, 0u);
      EXPECT_EQ(given_back, 0);
    }
    EXPECT_EQ(given_back, 1);
  }
}

TEST(Api, GivesDataBackOnceAfterTheLastBuffer) {
  int given_back = 0;
  const Tensor tensor = crowd(4);
  Buffer frame = lend(describe(tensor), count_call, &given_back);
  const Buffer other(gst_buffer_ref(frame.get()));  // so that the element has to make a copy
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

TEST(Api, GivesDataBackWhenThePipelineIsThrownAway) {
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

struct Mistake {
  const char* word;  // of the message
  std::function<void(KeepboxTensor&)> make;
};

/// As C may: C++ has no way to say it.
template <class Enum>
void set_number(Enum& value, int number) {
  static_assert(sizeof value == sizeof number);
  std::memcpy(&value, &number, sizeof number);
}

TEST(Api, SaysWhatIsWrongAndTakesNothing) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Mistake mistakes[] = {
      {"data_type", [](auto& t) { t.data_type = {}; }},  // forgotten: INT4
      {"GstTensorDataType 999", [](auto& t) { set_number(t.data_type, 999); }},
      {"24 bytes for 1x1x6 float32", [](auto& t) { t.size = 12; }},
      {"12 bytes", [](auto& t) { t.data_type = GST_TENSOR_DATA_TYPE_FLOAT16; }},
      {"n_dims", [](auto& t) { t.n_dims = 0; }},
      {"1 to 8 dimensions", [](auto& t) { t.n_dims = 9; }},
      {"fits in memory", [](auto& t) { t.dims[0] = t.dims[1] = gsize{1} << 40; }},
      {"NULL", [](auto& t) { t.data = nullptr; }},
      {"KeepboxMemory", [](auto& t) { set_number(t.memory, 2); }},
      {"KeepboxReady", [](auto& t) { set_number(t.ready, 9); }},
      {"KEEPBOX_READY_NOW", [](auto& t) { t.ready = KEEPBOX_READY_STREAM; }},
      {"event", [](auto& t) { t.memory = KEEPBOX_MEMORY_CUDA, t.ready = KEEPBOX_READY_EVENT; }},
  };
  int given_back = 0;
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.word);
    const Buffer frame = test::empty_frame();
    KeepboxTensor tensor = describe(rows);
    mistake.make(tensor);
    const std::string text = refusal(frame.get(), &tensor, count_call, &given_back);
    for (const char* word : {"expected", "found", ": ", mistake.word})
      EXPECT_NE(text.find(word), std::string::npos) << text;
    EXPECT_EQ(gst_buffer_get_meta(frame.get(), gst_tensor_meta_api_get_type()), nullptr);
    EXPECT_FALSE(keepbox_buffer_add_tensor(frame.get(), &tensor, nullptr, nullptr, nullptr));
  }
  EXPECT_EQ(given_back, 0) << "what is not taken stays the caller's";
}

TEST(Api, SaysWhichBufferIsWrong) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const KeepboxTensor tensor = describe(rows);
  const Buffer frame = test::empty_frame();
  EXPECT_NE(refusal(nullptr, &tensor).find("GstBuffer"), std::string::npos);
  EXPECT_NE(refusal(frame.get(), nullptr).find("KeepboxTensor"), std::string::npos);
  const Buffer held(gst_buffer_ref(frame.get()));
  EXPECT_NE(refusal(frame.get(), &tensor).find("gst_buffer_make_writable"), std::string::npos);
}

TEST(Api, WritesAsManyBoxesAsThereIsRoom) {
  Harness h("boxdecode");
  const Buffer out =
      h.run(test::frame_with({{10, 10, 50, 50, 0.9f, 3}, {100, 100, 150, 150, 0.8f, 4}}));
  KeepboxBox boxes[2] = {};
  EXPECT_EQ(keepbox_buffer_get_boxes(out.get(), boxes, 1), 2u);
  EXPECT_EQ(boxes[0].class_id, 3);
  EXPECT_EQ(boxes[1].label, nullptr) << "beyond the capacity";
  EXPECT_EQ(keepbox_buffer_get_boxes(out.get(), nullptr, 2), 2u);
  EXPECT_EQ(keepbox_buffer_get_boxes(nullptr, boxes, 2), 0u);
}

TEST(Api, ReadsBoxesOfOtherDecoders) {
  const Buffer frame = test::empty_frame();
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(frame.get()), 0, 10,
                                         20, 30, 40, 0.5f, &od);
  const std::vector<KeepboxBox> boxes = api_boxes(frame);
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].x, 10);
  EXPECT_EQ(boxes[0].height, 40);
  EXPECT_EQ(boxes[0].od_id, od.id);
  EXPECT_EQ(boxes[0].class_id, -1);
  EXPECT_EQ(boxes[0].anchor, -1);
  EXPECT_EQ(boxes[0].label, nullptr);
}

TEST(Api, IsUsableFromC) {
  Harness h("boxdecode");
  Buffer frame = test::empty_frame();
  g_autoptr(GError) error = nullptr;
  ASSERT_TRUE(api_c_add(frame.get(), &error)) << error->message;
  const Buffer out = h.run(frame.release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_STREQ(api_c_first_label(out.get()), "class-7");
  EXPECT_EQ(api_c_tensor_size(), sizeof(KeepboxTensor));
  EXPECT_EQ(api_c_box_size(), sizeof(KeepboxBox));
  EXPECT_STREQ(keepbox_version(), PACKAGE_VERSION);
}

TEST(Api, WithoutADriverCudaIsAnError) {
  g_autoptr(GError) error = nullptr;
  if (keepbox_cuda_available(&error)) GTEST_SKIP() << "this machine has CUDA";
  EXPECT_EQ(error->domain, GST_RESOURCE_ERROR);
  EXPECT_NE(std::string(error->message).find("expected"), std::string::npos);
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  KeepboxTensor tensor = describe(rows);
  tensor.memory = KEEPBOX_MEMORY_CUDA;
  int given_back = 0;
  const Buffer frame = test::empty_frame();
  EXPECT_EQ(refusal(frame.get(), &tensor, count_call, &given_back), error->message);
  EXPECT_EQ(given_back, 0);
}

}  // namespace
}  // namespace keepbox
