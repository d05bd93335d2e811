// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox.h next to the plugin in one process: each has its own copy of shared code.
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "gst/metas/attachboxes.h"
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
      ASSERT_TRUE(mapped.look(frame.get()));
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

/// Returns an enumeration value out of range, which C allows and C++ cannot express.
template <class Enum>
Enum numbered(int number) {
  Enum value{};
  static_assert(sizeof value == sizeof number);
  std::memcpy(&value, &number, sizeof number);
  return value;
}

void expect_refused(const char* word, const Lent& lent) {
  SCOPED_TRACE(word);
  int given_back = 0;
  const Buffer frame = test::empty_frame();
  const std::string text = refusal(frame.get(), lent, count_call, &given_back);
  for (const char* part : {"expected", "found", ": ", word})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(gst_buffer_get_meta(frame.get(), gst_tensor_meta_api_get_type()), nullptr);
  EXPECT_FALSE(keepbox_buffer_add_tensor(frame.get(), lent.info.get(), lent.data, lent.size,
                                         nullptr, nullptr, nullptr));
  EXPECT_EQ(given_back, 0) << "what is not taken stays the caller's";
}

TEST(Api, ReportsInvalidArgumentsAndAddsNothing) {
  constexpr auto kFloat = GST_TENSOR_DATA_TYPE_FLOAT32;
  constexpr gsize kHuge = gsize{1} << 40;
  const float row[6] = {10, 10, 50, 50, 0.9f, 3};
  const auto odd_type = numbered<GstTensorDataType>(999);
  const std::pair<const char*, Lent> mistakes[] = {
      {"data_type", describe("a", GST_TENSOR_DATA_TYPE_INT4, {1, 1, 6}, row, 24)},
      {"GstTensorDataType 999", describe("a", odd_type, {1, 1, 6}, row, 24)},
      {"24 bytes for 1x1x6 float32", describe("a", kFloat, {1, 1, 6}, row, 12)},
      {"12 bytes", describe("a", GST_TENSOR_DATA_TYPE_FLOAT16, {1, 1, 6}, row, 24)},
      {"n_dims", describe("a", kFloat, {}, row, 24)},
      {"1 to 8 dimensions", describe("a", kFloat, std::vector<gsize>(9, 1), row, 4)},
      {"fits in memory", describe("a", kFloat, {kHuge, kHuge, 6}, row, 24)},
      {"NULL", describe("a", kFloat, {1, 1, 6}, nullptr, 24)},
  };
  for (const auto& [word, lent] : mistakes) expect_refused(word, lent);
}

TEST(Api, ReportsInvalidMemory) {
  struct Mistake {
    const char* word;
    gint memory, ready;
  };
  const Mistake mistakes[] = {
      {"KeepboxMemory", 2, KEEPBOX_READY_NOW},
      {"KeepboxReady", KEEPBOX_MEMORY_SYSTEM, 9},
      {"KEEPBOX_READY_NOW", KEEPBOX_MEMORY_SYSTEM, KEEPBOX_READY_STREAM},
      {"event", KEEPBOX_MEMORY_CUDA, KEEPBOX_READY_EVENT},
  };
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  for (const Mistake& mistake : mistakes) {
    const Lent lent = describe(rows);
    api_c_set_place(lent.info.get(), mistake.memory, mistake.ready);
    expect_refused(mistake.word, lent);
  }
}

TEST(Api, ReportsInvalidBuffers) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Lent lent = describe(rows);
  const Buffer frame = test::empty_frame();
  EXPECT_NE(refusal(nullptr, lent).find("GstBuffer"), std::string::npos);
  EXPECT_NE(refusal(frame.get(), {}).find("KeepboxTensorInfo"), std::string::npos);
  const Buffer held(gst_buffer_ref(frame.get()));
  EXPECT_NE(refusal(frame.get(), lent).find("gst_buffer_make_writable"), std::string::npos);
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

TEST(Api, ReadsBoxesOfOtherDecodersAndTrackers) {
  Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 10, 20, 30, 40, 0.5f, &od);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("other"), 1, 2, 3, 4, 0.25f,
                                         &od);
  gst_analytics_relation_meta_add_tracking_mtd(meta, G_MAXUINT64, 0, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id, track.id);
  const auto want = test::boxes(frame);
  const auto boxes = api_boxes(frame);
  frame.reset();  // boxes do not depend on the buffer
  test::expect_same(boxes, want);
  EXPECT_EQ(keepbox_box_get_class_id(boxes[0]), -1);
  EXPECT_EQ(keepbox_box_get_label(boxes[0]), nullptr);
  EXPECT_FALSE(keepbox_box_get_tracking_id(boxes[0], nullptr));
  guint64 id = 0;
  EXPECT_TRUE(keepbox_box_get_tracking_id(boxes[1], &id));
  EXPECT_EQ(id, G_MAXUINT64);
  EXPECT_EQ(keepbox_box_get_od_id(boxes[1]), od.id);
}

/// Makes two boxes: one with keypoints and a mask of 3 x 2, and one without.
Buffer with_parts() {
  static constexpr Keypoint kPoints[] = {{1.5f, 2, 0.25f}, {-3, 4, 1}};
  static constexpr Edge kEdges[] = {{0, 1}};
  static constexpr uint8_t kPixels[] = {1, 0, 0, 1, 1, 0};
  Buffer frame = test::empty_frame();
  const MaskPixels pixels{kPixels, 3, 2, {10.5f, 20, 40, 40.25f}};
  const MaskBuffers masks = make_mask_buffers(std::span(&pixels, 1));
  FrameBox list[] = {{.box = {10, 20, 40, 41}, .score = 0.5f, .class_id = 1, .anchor = 2},
                     {.box = {1, 2, 3, 4}, .score = 0.25f, .class_id = 1, .anchor = 3}};
  list[0].points = {kPoints, kEdges, g_quark_from_string("pair")};
  list[0].mask = masks[0];
  EXPECT_TRUE(attach_boxes(frame.get(), list, {}));
  return frame;
}

void expect_parts(const KeepboxBox* box) {
  gsize values = 0, numbers = 0, stride = 0;
  const gfloat* points = keepbox_box_get_points(box, &values);
  EXPECT_EQ(std::vector<gfloat>(points, points + values),
            (std::vector<gfloat>{1.5f, 2, 0.25f, -3, 4, 1}));
  const guint8* edges = keepbox_box_get_edges(box, &numbers);
  EXPECT_EQ(std::vector<int>(edges, edges + numbers), (std::vector{0, 1}));
  EXPECT_STREQ(keepbox_box_get_points_name(box), "pair");
  guint width = 0, height = 0;
  const guint8* mask = keepbox_box_get_mask(box, &width, &height, &stride);
  EXPECT_EQ(std::tuple(width, height, stride), std::tuple(3u, 2u, gsize{3}));
  EXPECT_EQ(std::vector<int>(mask, mask + 6), (std::vector{1, 0, 0, 1, 1, 0}));
  g_autoptr(GBytes) bytes = keepbox_box_dup_mask(box, &width, &height);
  EXPECT_EQ(g_bytes_get_size(bytes), 6u);
  gfloat x = 0, y = 0, w = 0, h = 0;
  EXPECT_TRUE(keepbox_box_get_mask_rect(box, &x, &y, &w, &h));
  EXPECT_EQ(std::tuple(x, y, w, h), std::tuple(10.5f, 20.0f, 29.5f, 20.25f));
}

TEST(Api, PointsAndMasksOutliveTheBuffer) {
  Buffer frame = with_parts();
  const auto boxes = api_boxes(frame);
  guint count = 0;
  g_autofree KeepboxBox** own = keepbox_buffer_dup_boxes(frame.get(), &count);
  frame.reset();
  ASSERT_EQ(boxes.size(), 2u);
  ASSERT_EQ(count, 2u);
  g_autoptr(KeepboxBox) copy = keepbox_box_copy(boxes[0]);
  for (const KeepboxBox* box :
       {boxes[0], static_cast<const KeepboxBox*>(own[0]), static_cast<const KeepboxBox*>(copy)})
    expect_parts(box);
  gsize values = 1;
  EXPECT_EQ(keepbox_box_get_points(boxes[1], &values), nullptr);
  EXPECT_EQ(values, 0u);
  EXPECT_EQ(keepbox_box_get_anchor(boxes[1]), 3);
  for (guint i = 0; i < count; ++i) keepbox_box_free(own[i]);
}

/// Rows with padding between them.
TEST(Api, PacksTheRowsOfForeignMasks) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  GstAnalyticsSegmentationMtd segmentation;
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 10, 20, 30, 40, 0.5f, &od);
  const guint8 rows[8] = {1, 0, 9, 9, 0, 1, 9, 9};
  GstBuffer* mask = gst_buffer_new_memdup(rows, sizeof rows);
  gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 2, 2);
  guint regions[] = {0, 1};
  gst_analytics_relation_meta_add_segmentation_mtd(meta, mask, GST_SEGMENTATION_TYPE_INSTANCE, 2,
                                                   regions, 10, 20, 30, 40, &segmentation);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id,
                                           segmentation.id);
  const auto boxes = api_boxes(frame);
  ASSERT_EQ(boxes.size(), 1u);
  gsize stride = 0;
  const guint8* packed = keepbox_box_get_mask(boxes[0], nullptr, nullptr, &stride);
  EXPECT_EQ(stride, 2u);
  EXPECT_EQ(std::vector<int>(packed, packed + 4), (std::vector{1, 0, 0, 1}));
}

TEST(Api, BufferWithoutMetaHasNoBoxes) {
  guint count = 1;
  EXPECT_EQ(keepbox_buffer_get_boxes(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0u);
  count = 1;
  g_autofree KeepboxBox** none = keepbox_buffer_dup_boxes(test::empty_frame().get(), &count);
  EXPECT_EQ(count, 0u);
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

TEST(Api, WithoutADriverCudaIsAnError) {
  g_autoptr(GError) error = nullptr;
  if (keepbox_cuda_available(&error)) GTEST_SKIP() << "this machine has CUDA";
  EXPECT_EQ(error->domain, GST_RESOURCE_ERROR);
  EXPECT_NE(std::string(error->message).find("expected"), std::string::npos);
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Lent lent = describe(rows);
  keepbox_tensor_info_set_memory(lent.info.get(), KEEPBOX_MEMORY_CUDA);
  int given_back = 0;
  const Buffer frame = test::empty_frame();
  const std::string said = refusal(frame.get(), lent, count_call, &given_back);
  // the hint differs there
  EXPECT_TRUE(said.starts_with(std::string(error->message).substr(0, said.find(':') + 1))) << said;
  EXPECT_EQ(given_back, 0);
}

}  // namespace
}  // namespace keepbox
