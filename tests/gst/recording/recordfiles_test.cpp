// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorrecord and tensorreplay with other elements: rejected files, starts and ends.
#include <gst/video/video.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::frame_with;
using test::Harness;
using test::Line;
using test::play;
using test::record;
using test::source;

namespace fs = std::filesystem;

const gfloat kRow[] = {10, 10, 50, 50, 0.9f, 3};

std::string write_rows(const test::TempDir& dir, const std::string& name, int rows) {
  std::string bytes;
  for (int i = 0; i < rows; ++i) bytes.append(reinterpret_cast<const char*>(kRow), sizeof kRow);
  return dir.write(name, bytes);
}

/// The attacher itself fails after its recording was opened.
TEST(RecordFiles, AFailedStartLeavesNothingOpen) {
  const test::TempDir dir;
  const std::string one = write_rows(dir, "one", 1), ten = write_rows(dir, "ten", 10);
  Line line("tensorreplay name=r dims=1,1,6 memory=cuda location=" + one + " ! fakesink name=out");
  if (gst_element_set_state(line.pipeline(), GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE)
    GTEST_SKIP() << "this machine has a GPU";
  gst_element_set_state(line.pipeline(), GST_STATE_NULL);
  g_autoptr(GstElement) replay = gst_bin_get_by_name(GST_BIN(line.pipeline()), "r");
  g_object_set(replay, "location", ten.c_str(), nullptr);
  gst_util_set_object_arg(G_OBJECT(replay), "memory", "system");
  EXPECT_EQ(line.play(), "");
  EXPECT_EQ(line.seen().size(), 10u);
}

TEST(RecordFiles, EosReachesAReplayInABin) {
  const test::TempDir dir;
  const std::string ten = write_rows(dir, "ten", 10) + " dims=1,1,6 loop=true";
  for (const std::string& bin :
       {"( tensorreplay location=" + ten + " )",
        "( videotestsrc is-live=true ! tensorreplay location=" + ten + " )"}) {
    Line line(bin + " ! fakesink sync=true name=out");
    gst_element_set_state(line.pipeline(), GST_STATE_PLAYING);
    gst_element_get_state(line.pipeline(), nullptr, nullptr, 20 * GST_SECOND);
    gst_element_send_event(line.pipeline(), gst_event_new_eos());
    EXPECT_EQ(line.play(), "") << bin;
  }
}

TEST(RecordFiles, IsASourceOnlyWithoutASinkPad) {
  GstElement* element = gst_element_factory_make("tensorreplay", nullptr);
  const auto is_source = [&] { return GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SOURCE); };
  EXPECT_TRUE(is_source());
  GstPad* pad = gst_element_request_pad_simple(element, "sink");
  EXPECT_FALSE(is_source());
  gst_element_release_request_pad(element, pad);
  gst_object_unref(pad);
  EXPECT_TRUE(is_source());
  gst_object_unref(element);
}

TEST(RecordFiles, ReplayedRecordingIsNotOverwritten) {
  const test::TempDir dir;
  const std::string folder = dir / "rec";
  record(source(10), folder);
  fs::create_directory_symlink(folder, dir / "link");
  for (const std::string& to : {folder, dir / "link"}) {
    const std::string error =
        play("tensorreplay location=" + folder + " ! tensorrecord location=" + to + " ! fakesink");
    EXPECT_NE(error.find(folder), std::string::npos) << error;
    EXPECT_NE(error.find("location="), std::string::npos) << error;
  }
  Line line("tensorreplay location=" + folder + " ! fakesink name=out");
  EXPECT_EQ(line.play(), "");
  EXPECT_EQ(line.seen().size(), 10u);
  EXPECT_EQ(play("tensorreplay location=" + folder + " ! tensorrecord location=" + (dir / "copy") +
                 " ! fakesink"),
            "");
}

TEST(RecordFiles, LoopWithoutVideo) {
  const test::TempDir dir;
  record(source(10), dir / "rec");
  Line line("tensorreplay loop=true location=" + (dir / "rec") +
            " ! fakesink name=out num-buffers=35");
  EXPECT_EQ(line.play(), "");
  const auto seen = line.seen();
  ASSERT_EQ(seen.size(), 35u);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].number, int(i % 10)) << i;
}

TEST(RecordFiles, OlderRecordingStaysWithoutEos) {
  const test::TempDir dir;
  record(source(10), dir / "rec");
  {
    Line cut(source(1000) + "identity name=mark ! tensorrecord location=" + (dir / "rec") +
             " ! fakesink name=out");
    cut.probe("mark", "src", test::number_frames());
    cut.pause();
  }
  EXPECT_TRUE(fs::exists(dir / "rec/frames.jsonl.part"));
  Line line("tensorreplay location=" + (dir / "rec") + " ! fakesink name=out");
  EXPECT_EQ(line.play(), "");
  EXPECT_EQ(line.seen().size(), 10u);
  Line again(source(3) + "tensorreplay location=" + (dir / "rec") +
             " ! tensorrecord location=" + (dir / "copy") + " ! fakesink name=out");
  fs::create_directory(dir / "copy");
  dir.write("copy/frames.jsonl.part", "{}\n");
  EXPECT_EQ(again.play(), "");
  ASSERT_EQ(again.warnings().size(), 1u);
  test::expect_words(again.warnings()[0], {"An earlier run", "frames.jsonl.part.1"});
}

/// Makes a frame with a tensor that core does not support.
GstBuffer* frame_with_other(const char* id, GstTensorDataType type, gsize rank) {
  GstBuffer* frame = frame_with({{10, 10, 50, 50, 0.9f, 3}});
  auto** tensors = g_new(GstTensor*, 1);
  tensors[0] = gst_tensor_alloc(rank);
  tensors[0]->id = g_quark_from_string(id);
  tensors[0]->data_type = type;
  tensors[0]->data = gst_buffer_new_memdup(kRow, sizeof kRow);
  for (gsize i = 0; i < rank; ++i) tensors[0]->dims[i] = i == 0 ? 24 : 1;
  auto* meta = reinterpret_cast<GstTensorMeta*>(
      gst_buffer_add_meta(frame, gst_tensor_meta_get_info(), nullptr));
  gst_tensor_meta_set(meta, 1, tensors);
  return frame;
}

TEST(RecordFiles, UnsupportedTensorsAreAnError) {
  struct Case {
    GstTensorDataType type;
    gsize rank;
    const char* words;
  };
  for (const Case& each : {Case{GST_TENSOR_DATA_TYPE_INT4, 2, "2 dimensions"},
                           Case{GST_TENSOR_DATA_TYPE_UINT4, 3, "3 dimensions"},
                           Case{GST_TENSOR_DATA_TYPE_FLOAT32, 9, "9 dimensions"}}) {
    const test::TempDir dir;
    Harness h("tensorrecord location=" + (dir / "rec"));
    EXPECT_FALSE(h.run(frame_with_other("other", each.type, each.rank)));
    EXPECT_EQ(h.flow, GST_FLOW_ERROR);
    const std::string error = h.error();
    EXPECT_NE(error.find("other"), std::string::npos) << error;
    EXPECT_NE(error.find(each.words), std::string::npos) << error;
    EXPECT_NE(error.find("tensor-ids="), std::string::npos) << error;
  }
}

/// True if EOS is among the output events.
bool saw_end(Harness& h) {
  bool seen = false;
  while (GstEvent* event = gst_harness_try_pull_event(h.get())) {
    seen = seen || GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  return seen;
}

TEST(RecordFiles, AnErrorIsNotTheEndOfARecording) {
  const test::TempDir dir;
  const std::string line = "tensorrecord location=" + (dir / "rec");
  {
    Harness whole(line);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(whole.run(frame_with({{10, 10, 50, 50, 0.9f, 3}})));
    gst_harness_push_event(whole.get(), gst_event_new_eos());
    EXPECT_TRUE(saw_end(whole));
  }
  {
    Harness torso(line);
    EXPECT_TRUE(torso.run(frame_with({{10, 10, 50, 50, 0.9f, 3}})));
    EXPECT_FALSE(torso.run(frame_with_other("other", GST_TENSOR_DATA_TYPE_INT4, 2)));
    EXPECT_FALSE(torso.run(frame_with({{10, 10, 50, 50, 0.9f, 3}})));
    gst_harness_push_event(torso.get(), gst_event_new_eos());
    EXPECT_FALSE(saw_end(torso));
  }
  Line again("tensorreplay location=" + (dir / "rec") + " ! fakesink name=out");
  EXPECT_EQ(again.play(), "");
  EXPECT_EQ(again.seen().size(), 3u);
}

TEST(RecordFiles, InvalidQuarkIsNoId) {
  const test::TempDir dir;
  Harness h("tensorrecord location=" + (dir / "rec"));
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, test::rows({{10, 10, 50, 50, 0.9f, 3}}));
  gst_buffer_get_tensor_meta(frame)->tensors[0]->id = G_MAXUINT;
  EXPECT_TRUE(h.run(frame)) << h.error();
  EXPECT_EQ(h.flow, GST_FLOW_OK);
}

TEST(RecordFiles, RecordsTheNamedTensors) {
  const test::TempDir dir;
  const std::string id = test::rows({}).id;
  {
    Harness h("tensorrecord location=" + (dir / "rec") + " tensor-ids=\"no-such, " + id + "\"");
    ASSERT_TRUE(h.run(frame_with_other("other", GST_TENSOR_DATA_TYPE_INT4, 2))) << h.error();
    ASSERT_TRUE(h.run(frame_with_other("other", GST_TENSOR_DATA_TYPE_FLOAT32, 2))) << h.error();
    gst_harness_push_event(h.get(), gst_event_new_eos());
  }
  Line line("tensorreplay location=" + (dir / "rec") + " ! fakesink name=out");
  EXPECT_EQ(line.play(), "");
  ASSERT_EQ(line.seen().size(), 2u);  // which expects one tensor a frame
  EXPECT_EQ(line.seen()[1].number, 3);
}

TEST(RecordFiles, FifosAndDevicesAreRejectedAtOnce) {
  const test::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {dir / "fifo", std::string("/dev/zero")}) {
    EXPECT_NE(play("tensorreplay dims=1,6 location=" + path + " ! fakesink").find("regular"),
              std::string::npos);
    EXPECT_NE(play(source(1) + "tensorrecord location=" + path + " ! fakesink").find(path),
              std::string::npos);
  }
}

TEST(RecordFiles, BlackFramesComeInEveryFormat) {
  const test::TempDir dir;
  const std::string raw = write_rows(dir, "raw", 1) + " dims=1,1,6";
  guint count = 0;
  const GstVideoFormat* formats = gst_video_formats_raw(&count);
  ASSERT_GT(count, 50u);
  for (guint i = 0; i < count; ++i) {
    const std::string format = gst_video_format_to_string(formats[i]);
    Line line("tensorreplay location=" + raw + " ! video/x-raw,width=64,height=64,format=" +
              format + " ! videoconvert ! video/x-raw,format=RGB ! fakesink name=out");
    guint8 brightest = 255;
    line.probe("out", "sink", [&](GstBuffer*& buffer) {
      GstMapInfo map;
      EXPECT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_READ));
      brightest = *std::max_element(map.data, map.data + map.size);
      gst_buffer_unmap(buffer, &map);
      return true;
    });
    EXPECT_EQ(line.play(), "") << format;
    EXPECT_LE(brightest, 1) << format;
  }
}

}  // namespace
}  // namespace keepbox
