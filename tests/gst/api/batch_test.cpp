// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of several frames: each frame has its slice of the application's memory.
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
using test::empty_frame;
using test::expect_words;
using test::Harness;
using test::kSmall;
using test::Lent;
using test::Tensor;

constexpr auto kFloat = GST_TENSOR_DATA_TYPE_FLOAT32;

/// Frames, and the result of a call.
struct Batch {
  explicit Batch(size_t count) {
    while (frames.size() < count) frames.push_back(empty_frame());
  }

  /// Returns the error of adding a tensor, or "".
  std::string add(const Lent& lent) {
    std::vector<GstBuffer*> buffers;
    for (const Buffer& frame : frames) buffers.push_back(frame.get());
    return add(buffers, lent);
  }
  std::string add(std::vector<GstBuffer*> buffers, const Lent& lent) {
    g_autoptr(GError) error = nullptr;
    const bool done =
        keepbox_buffers_add_tensor(buffers.data(), buffers.size(), lent.info.get(), lent.data,
                                   lent.size, count_call, &given_back, &error);
    EXPECT_EQ(done, error == nullptr);
    if (error != nullptr) {
      EXPECT_EQ(error->domain, GST_RESOURCE_ERROR) << error->message;
    }
    return error != nullptr ? error->message : "";
  }

  int given_back = 0;
  std::vector<Buffer> frames;
};

/// Returns tensors of the same shape as one.
Tensor batch_of(std::initializer_list<Tensor> tensors) {
  Tensor out = *tensors.begin();
  out.values.clear();
  for (const Tensor& each : tensors)
    out.values.insert(out.values.end(), each.values.begin(), each.values.end());
  out.shape = {tensors.size(), out.shape[1], out.shape[2]};
  return out;
}

TEST(ApiBatch, GivesEachFrameItsSliceWithoutACopy) {
  const std::vector<uint8_t> bytes(3 * 5 * 7);
  Batch batch(3);
  ASSERT_EQ(batch.add(describe("a", GST_TENSOR_DATA_TYPE_UINT8, {3, 5, 7}, bytes.data(), 105)), "");
  for (size_t i = 0; i < 3; ++i) {
    FrameTensors mapped;
    ASSERT_TRUE(mapped.list_tensors(batch.frames[i].get()));
    ASSERT_TRUE(mapped.map_all());
    ASSERT_EQ(mapped.views().size(), 1u);
    const TensorView& slice = mapped.views()[0];
    EXPECT_EQ(slice.data, bytes.data() + 35 * i) << "at any multiple of the element size";
    EXPECT_EQ(slice.bytes, 35u);
    EXPECT_EQ(slice.id, "a");
    EXPECT_EQ(slice.shape, (Shape{1, 5, 7}));
  }
}

TEST(ApiBatch, DecodesAsFramesOfTheirOwn) {
  const Tensor singles[] = {crowd(1), crowd(2), crowd(3)};
  const Tensor all = batch_of({singles[0], singles[1], singles[2]});
  Batch batch(3);
  ASSERT_EQ(batch.add(describe(all)), "");
  Harness slices("boxdecode", kSmall), one("boxdecode", kSmall);
  for (size_t i = 0; i < 3; ++i) {
    const Buffer got = slices.run(batch.frames[i].release());
    const Buffer want = one.run(test::lend(describe(singles[i])).release());
    ASSERT_TRUE(got && want) << slices.error();
    EXPECT_GT(api_boxes(got).size(), 20u);
    test::expect_same(api_boxes(got), test::boxes(want));
  }
}

/// Slices begin off the alignment of vectors.
TEST(ApiBatch, DecodesSlicesOfOddSizes) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Tensor all = batch_of({rows, rows, rows});
  for (const char* backend : {"reference", "auto"}) {
    Batch batch(3);
    ASSERT_EQ(batch.add(describe(all)), "");
    Harness h(std::string("boxdecode backend=") + backend);
    for (Buffer& frame : batch.frames) {
      const Buffer out = h.run(frame.release());
      ASSERT_TRUE(out) << h.error();
      EXPECT_EQ(test::ods(out).at(0).label, "class-3");
    }
  }
}

TEST(ApiBatch, MatchesReplayOfTheBatch) {
  const test::TempDir dir;
  const Tensor all = batch_of({crowd(4), crowd(5)});
  const std::string path =
      dir.write("t.raw", {reinterpret_cast<const char*>(all.values.data()), test::bytes_of(all)});
  Harness replay("identity ! tensorreplay dims=2,10,2100 tensor-id=yolo-v8-out location=" + path +
                     " ! boxdecode",
                 kSmall);
  Harness h("boxdecode", kSmall);
  Batch batch(2);
  ASSERT_EQ(batch.add(describe(all)), "");
  for (Buffer& frame : batch.frames) {
    const Buffer want = replay.run(empty_frame().release());
    const Buffer got = h.run(frame.release());
    ASSERT_TRUE(want && got) << replay.error() << h.error();
    test::expect_same(api_boxes(got), test::boxes(want));
  }
  EXPECT_FALSE(replay.run(empty_frame().release()));
  EXPECT_EQ(replay.flow, GST_FLOW_EOS);
}

TEST(ApiBatch, ReleasesDataOnceAfterTheLastSlice) {
  const Tensor rows = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const Tensor all = batch_of({rows, rows});
  Batch batch(2);
  ASSERT_EQ(batch.add(describe(all)), "");
  batch.frames[1].reset();
  EXPECT_EQ(batch.given_back, 0) << "the first frame still has its slice";
  batch.frames[0].reset();
  EXPECT_EQ(batch.given_back, 1);
  Batch empty(2);
  ASSERT_EQ(empty.add(describe(nullptr, kFloat, {2, 0, 6}, nullptr, 0)), "");
  empty.frames.clear();
  EXPECT_EQ(empty.given_back, 1);
}

void expect_refused(Batch& batch, const std::string& error,
                    std::initializer_list<const char*> words) {
  expect_words(error, words);
  EXPECT_EQ(batch.given_back, 0) << "what is not taken stays the caller's";
  for (const Buffer& frame : batch.frames)
    EXPECT_EQ(gst_buffer_get_meta(frame.get(), gst_tensor_meta_api_get_type()), nullptr);
}

TEST(ApiBatch, ReportsInvalidArgumentsAndAddsNothing) {
  const float rows[12] = {};
  Batch two(2);
  const auto add = [&](const std::vector<gsize>& dims, gsize size) {
    return two.add(describe("a", kFloat, dims, rows, size));
  };
  expect_refused(two, add({3, 4}, 48), {"first dimension of 2", "3x4", "buffers"});
  expect_refused(two, add({1, 2, 6}, 48), {"first dimension of 2", "1x2x6"});
  expect_refused(two, add({2, 6}, 47), {"48 bytes", "47"});
  expect_refused(two, add({}, 48), {"n_dims"});
  expect_refused(two, two.add({}), {"KeepboxTensorInfo"});
  const Lent good = describe("a", kFloat, {2, 6}, rows, 48);
  expect_refused(two, two.add({}, good), {"one buffer", "none"});
  EXPECT_FALSE(
      keepbox_buffers_add_tensor(nullptr, 2, good.info.get(), rows, 48, nullptr, nullptr, nullptr));
  GstBuffer* first = two.frames[0].get();
  expect_refused(two, two.add({first, nullptr}, good), {"GstBuffer", "NULL"});
  expect_refused(two, two.add({first, first}, good), {"different buffers", "twice"});
  const Buffer held(gst_buffer_ref(two.frames[1].get()));
  expect_refused(two, two.add(good), {"gst_buffer_make_writable"});
}

/// A failing slice does not release the data.
TEST(ApiBatch, ReportsMemoryThatIsNotOnADevice) {
  const float rows[12] = {};
  Batch two(2);
  const Lent lent = describe("a", kFloat, {2, 6}, rows, 48);
  keepbox_tensor_info_set_memory(lent.info.get(), KEEPBOX_MEMORY_CUDA);
  expect_refused(two, two.add(lent), {"CUDA"});
}

TEST(ApiBatch, IsUsableFromC) {
  Batch two(2);
  GstBuffer* buffers[] = {two.frames[0].get(), two.frames[1].get()};
  g_autoptr(GError) error = nullptr;
  ASSERT_TRUE(api_c_add_batch(buffers, 2, &error)) << error->message;
  for (Buffer& frame : two.frames) {
    Harness h("boxdecode model-name=rows");
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << h.error();
    EXPECT_TRUE(api_c_check(out.get()));
  }
}

}  // namespace
}  // namespace keepbox
