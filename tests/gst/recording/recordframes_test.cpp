// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorrecord and frames that it cannot record, and its next start.
#include <filesystem>

#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::expect_words;
using test::frame_with;
using test::Harness;

GstBuffer* without_tensors() { return gst_buffer_new_allocate(nullptr, 64, nullptr); }

void end(Harness& h) { gst_harness_push_event(h.get(), gst_event_new_eos()); }

TEST(RecordFrames, WithoutTensorsAreNoRecording) {
  const test::TempDir dir;
  Harness h("tensorrecord location=" + (dir / "rec"));
  for (int start = 0; start < 2; ++start) {
    if (start > 0) expect_words(h.warning(), {"An earlier run"});
    ASSERT_TRUE(h.run(without_tensors())) << h.error();
    expect_words(h.warning(), {"no tensors to record", "an inference element before"});
    ASSERT_TRUE(h.run(without_tensors()));
    EXPECT_EQ(h.warning(), "") << "once";
    end(h);
    expect_words(h.error(), {"No frame had tensors", "an inference element before"});
    EXPECT_FALSE(std::filesystem::exists(dir / "rec/frames.jsonl"));
    gst_element_set_state(h.element(), GST_STATE_READY);
    gst_element_set_state(h.element(), GST_STATE_PLAYING);
    gst_harness_push_event(h.get(), gst_event_new_stream_start("another"));
    h.set_caps("video/x-raw,format=RGB,width=640,height=640");
  }
  ASSERT_TRUE(h.run(frame_with({{10, 10, 50, 50, 0.9f, 3}}))) << "after the error";
  end(h);
  EXPECT_TRUE(std::filesystem::exists(dir / "rec/frames.jsonl"));
}

TEST(RecordFrames, WithOtherTensorsHaveAHint) {
  const test::TempDir dir;
  Harness h("tensorrecord tensor-ids=other location=" + (dir / "rec"));
  ASSERT_TRUE(h.run(frame_with({{10, 10, 50, 50, 0.9f, 3}}))) << h.error();
  expect_words(h.warning(), {"no tensors to record", "tensor-ids= to ids"});
}

TEST(RecordFrames, OfObjectsCannotBeRecorded) {
  const test::TempDir dir;
  Harness h("tensorrecord location=" + (dir / "rec"));
  const auto tensor = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
  set_provenance(data, std::make_shared<const TensorProvenance>(
                           TensorProvenance{.model = "crops", .objects = true}));
  GstBuffer* frame = without_tensors();
  add_tensor(frame, "x", DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
  EXPECT_FALSE(h.run(frame));
  expect_words(h.error(), {"Tensors of objects cannot be recorded", "regions=objects"});
}

TEST(RecordFrames, LeaveTheFolderToOthersAfterTheStop) {
  const test::TempDir dir;
  const std::string line = "tensorrecord location=" + (dir / "rec");
  Harness first(line);
  ASSERT_TRUE(first.run(frame_with({{10, 10, 50, 50, 0.9f, 3}})));
  end(first);
  gst_element_set_state(first.element(), GST_STATE_NULL);
  Harness next(line);
  EXPECT_TRUE(next.run(frame_with({{10, 10, 50, 50, 0.9f, 3}}))) << next.error();
}

}  // namespace
}  // namespace keepbox
