// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorrecord and tensorreplay: round trips, loops and ends, invalid files.
#include "gst/recording/files.h"
#include "tests/gst/recording/numbered.h"
#include "tests/recorded.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::frame_with;
using test::Harness;
using test::ods;
using test::play;

std::string text_of(const std::string& path) {
  const auto bytes = test::read_file(path);
  return {bytes.begin(), bytes.end()};
}

TEST(Replay, ReproducesTheRecording) {
  const test::TempDir dir;
  const std::string folder = dir / "rec";
  {
    Harness h("tensorrecord location=" + folder);
    ASSERT_TRUE(h.run(frame_with({{10, 10, 50, 50, 0.9f, 3}})));
    ASSERT_TRUE(h.run(gst_buffer_new_allocate(nullptr, 8, nullptr)));
    ASSERT_TRUE(h.run(frame_with({{20, 20, 60, 60, 0.8f, 4}})));
    gst_harness_push_event(h.get(), gst_event_new_eos());
  }
  Harness h("identity ! tensorreplay location=" + folder + " ! boxdecode on-mismatch=pass");
  const Buffer first = h.run(gst_buffer_new_allocate(nullptr, 8, nullptr));
  ASSERT_TRUE(first) << h.error();
  EXPECT_EQ(ods(first).at(0).label, "class-3");
  const Buffer second = h.run(gst_buffer_new_allocate(nullptr, 8, nullptr));
  EXPECT_TRUE(ods(second).empty());
  const Buffer third = h.run(gst_buffer_new_allocate(nullptr, 8, nullptr));
  EXPECT_EQ(ods(third).at(0).label, "class-4");
  EXPECT_FALSE(h.run(gst_buffer_new_allocate(nullptr, 8, nullptr)));
  EXPECT_EQ(h.flow, GST_FLOW_EOS);
}

TEST(Replay, KeepsTheSourceOfTensors) {
  const test::TempDir dir;
  const std::string folder = dir / "rec";
  const char* caps = "video/x-raw,format=RGB,width=1919,height=1079";
  const auto decoded = [](const Buffer& frame) {
    EXPECT_TRUE(frame);
    const FrameBox box = frame ? test::boxes(frame).at(0) : FrameBox{};
    return std::tuple(box.box, box.label, box.model);
  };
  const auto made = [] {
    const auto tensor = test::rows({{10.25f, 150, 50.5f, 170, 0.9f, 1}});
    GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
    set_provenance(data, std::make_shared<const TensorProvenance>(TensorProvenance{
                             .geometry = {{1919, 1079}, {640, 640}, 2.9984f, 2.9984f, 0, 140.07f},
                             .model = "rows",
                             .detector = "yolov10",
                             .units = Units::kPixels,
                             .labels = {"", "dog"}}));
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
    add_tensor(frame, "", DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
    return frame;
  };
  const auto want = [&] {
    Harness direct("tensorrecord location=" + folder + " ! boxdecode", caps);
    const Buffer out = direct.run(made());
    gst_harness_push_event(direct.get(), gst_event_new_eos());
    return decoded(out);
  }();
  EXPECT_EQ(std::get<1>(want), g_quark_from_string("dog"));
  Harness again("identity ! tensorreplay loop=true location=" + folder + " ! boxdecode", caps);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(decoded(again.run(gst_buffer_new_allocate(nullptr, 8, nullptr))), want)
        << again.error();
}

TEST(Replay, LoopsOnRequest) {
  const test::TempDir dir;
  const auto tensor = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  const std::string path =
      dir.write("t.raw", {reinterpret_cast<const char*>(tensor.values.data()), 24});
  Harness h("identity ! tensorreplay loop=true dims=1,1,6 location=" + path +
            " ! boxdecode detector=yolov10");
  for (int i = 0; i < 5; ++i) {
    const Buffer out = h.run(gst_buffer_new_allocate(nullptr, 8, nullptr));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(ods(out).size(), 1u);
  }
}

TEST(Replay, MakesItsOwnFramesWithoutASource) {
  const test::TempDir dir;
  const auto tensor = test::rows({{10, 10, 50, 50, 0.9f, 3}, {100, 100, 200, 200, 0.8f, 1}});
  const std::string path =
      dir.write("t.raw", {reinterpret_cast<const char*>(tensor.values.data()), 48});
  EXPECT_EQ(play("tensorreplay dims=1,2,6 location=" + path +
                 " ! boxdecode detector=yolov10 ! boxsink format=csv location=" + (dir / "o")),
            "");
  EXPECT_NE(text_of(dir / "o").find("10,10,50,50"), std::string::npos);
}

TEST(Replay, ReportsTruncatedAndInvalidFiles) {
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", std::string(100, 'x'));
  const auto error = [&](const std::string& settings) {
    return play("tensorreplay " + settings + " ! boxdecode ! fakesink");
  };
  const std::string short_file = error("dims=1,2,6 location=" + path);
  EXPECT_NE(short_file.find("48 bytes"), std::string::npos) << short_file;
  EXPECT_NE(short_file.find("100 bytes"), std::string::npos) << short_file;
  EXPECT_NE(error("location=" + path).find("dims="), std::string::npos);
  EXPECT_NE(error("location=" + (dir / "none")).find("none"), std::string::npos);
  EXPECT_NE(error("").find("location="), std::string::npos);
  EXPECT_NE(error("dims=1,25 type=string location=" + path).find("string"), std::string::npos);
}

TEST(Replay, WorksTwiceInALineForTwoTensors) {
  const test::TempDir dir;
  std::vector<float> zeros(40);
  const std::string path = dir.write("t.raw", {reinterpret_cast<const char*>(zeros.data()), 160});
  dir.write(
      "p",
      std::string("0.5 0.5 0.1 0.1\n") + "0.5 0.5 0.1 0.1\n" +
          "0.5 0.5 0.1 0.1\n0.5 0.5 0.1 0.1\n0.5 0.5 0.1 0.1\n0.5 0.5 0.1 0.1\n0.5 0.5 0.1 0.1\n"
          "0.5 0.5 0.1 0.1\n0.5 0.5 0.1 0.1\n0.5 0.5 0.1 0.1\n");
  Harness h("identity ! tensorreplay tensor-id=b dims=1,10,4 location=" + path +
            " ! tensorreplay tensor-id=s dims=1,10,4 location=" + path +
            " ! boxdecode tensor-ids=b,s detector=" +
            dir.write("ssd.detector", "[detector]\nbase=ssd\npriors-file=p\n"));
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 8, nullptr);
  const Buffer held(gst_buffer_ref(frame));  // so that copies must keep the first tensor
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out).size(), 1u);  // ten equal boxes, sigmoid(0) = 0.5
}

/// Plays tensors of those dims without frames into the decoder. @return the boxes as JSON.
std::string replayed(const test::TempDir& dir, std::initializer_list<const char*> tensors,
                     const std::string& decoder) {
  std::string line;
  for (const std::string dims : tensors) {
    const std::string bytes(4 * shape_from(dims)->count().value(), '\0');
    line += "tensorreplay location=" + dir.write(dims, bytes) + " dims=" + dims + " ! ";
  }
  EXPECT_EQ(play(line + decoder +
                 " score-threshold=0 max-detections=1 ! boxsink location=" + (dir / "o")),
            "");
  return text_of(dir / "o");
}

TEST(Replay, MakesFramesOfTheInputsSize) {
  const test::TempDir dir;
  const std::string size = R"("resolution":{"width":640,"height":384})";
  // Rows of 640x384, which is no square's number, and maps.
  const std::string set =
      replayed(dir, {"1,5040,85"}, "boxdecode detector=yolov5 model-size=640x384");
  EXPECT_NE(set.find(size), std::string::npos) << set;
  const std::string shown = replayed(dir, {"1,1,96,160", "1,2,96,160", "1,2,96,160", "1,10,96,160"},
                                     "boxdecode detector=centerface");
  EXPECT_NE(shown.find(size), std::string::npos) << shown;
}

TEST(Replay, GoesBackToTheFrameAfterASeek) {
  const test::TempDir dir;
  const std::string folder = dir / "rec";
  {
    Harness h("tensorrecord location=" + folder);
    for (unsigned i = 0; i < 4; ++i) {
      GstBuffer* frame = frame_with({{10, 10, 50, 50, 0.9f, float(i)}});
      GST_BUFFER_PTS(frame) = i * GST_SECOND;
      ASSERT_TRUE(h.run(frame));
    }
    gst_harness_push_event(h.get(), gst_event_new_eos());
  }
  Harness h("identity ! tensorreplay location=" + folder + " ! boxdecode");
  const auto label = [&] {
    return ods(h.run(gst_buffer_new_allocate(nullptr, 8, nullptr))).at(0).label;
  };
  EXPECT_EQ(label(), "class-0");
  EXPECT_EQ(label(), "class-1");
  const auto seek = [&](GstClockTime to) {
    gst_harness_push_event(h.get(), gst_event_new_flush_start());
    gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = segment.position = segment.time = to;
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  };
  seek(0);
  EXPECT_EQ(label(), "class-0");
  seek(2 * GST_SECOND);
  EXPECT_EQ(label(), "class-2");
}

TEST(Replay, AcceptsAnEmptyArray) {
  const test::TempDir dir;
  const std::string path = dir.write("zero.npy", npy_header(DataType::kFloat32, {1, 0, 6}));
  EXPECT_EQ(play("tensorreplay location=" + path + " ! boxdecode detector=yolov10 ! fakesink"), "");
}

TEST(Replay, AcceptsALocationSetInReady) {
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", std::string(24, '\0'));
  GstElement* element = gst_element_factory_make("tensorreplay", nullptr);
  g_object_set(element, "location", path.c_str(), "dims", "1,1,6", nullptr);
  EXPECT_NE(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  g_object_set(element, "location", "/no/such/file", nullptr);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

/// Makes a recording whose second frame's file is missing.
std::string write_broken(const test::TempDir& dir) {
  dir.write(
      "frames.jsonl",
      "{\"tensors\":[{\"file\":\"a.npy\",\"id\":\"yolo-26-end2end-out\",\"type\":\"float32\"}]}\n"
      "{\"tensors\":[{\"file\":\"missing.npy\",\"id\":\"x\",\"type\":\"float32\"}]}\n");
  const auto tensor = test::rows({{10, 10, 50, 50, 0.9f, 3}});
  dir.write("a.npy", npy_header(DataType::kFloat32, {1, 1, 6}) +
                         std::string(reinterpret_cast<const char*>(tensor.values.data()), 24));
  return dir.path().string();
}

TEST(RecordingFailure, SuppressesEos) {
  const test::TempDir dir;
  GstEvent* eos = gst_event_new_eos();
  {
    Harness h("identity ! tensorreplay location=" + write_broken(dir));
    ASSERT_TRUE(h.run(gst_buffer_new_allocate(nullptr, 8, nullptr)));
    EXPECT_FALSE(h.run(gst_buffer_new_allocate(nullptr, 8, nullptr)));
    EXPECT_EQ(h.flow, GST_FLOW_ERROR);
    gst_harness_push_event(h.get(), gst_event_ref(eos));
  }
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(eos), 1) << "others hold it";
  gst_event_unref(eos);
}

TEST(RecordingFailure, LeavesNoCompleteFile) {
  const test::TempDir dir;
  dir.write("out.json", "earlier");
  // An error, after which the source sends EOS.
  const std::string error =
      play("tensorreplay location=" + write_broken(dir) +
           " ! boxdecode ! boxsink format=coco location=" + (dir / "out.json"));
  EXPECT_NE(error.find("missing.npy"), std::string::npos) << error;
  EXPECT_EQ(text_of(dir / "out.json"), "earlier");
  EXPECT_NE(text_of(dir / "out.json.part"), "");
}

TEST(RecordingFailure, IsOverAtTheNextStart) {
  const test::TempDir dir;
  test::Line line(test::source(2) + "tensorreplay location=" + write_broken(dir) +
                  " ! fakesink name=out");
  EXPECT_NE(line.play().find("missing.npy"), std::string::npos);
  gst_element_set_state(line.pipeline(), GST_STATE_NULL);
  std::filesystem::copy(dir / "a.npy", dir / "missing.npy");
  EXPECT_EQ(line.play(), "");
}

TEST(TensorRecord, ReportsUnwritableLocations) {
  const test::TempDir dir;
  const std::string file = dir.write("file", "x");
  EXPECT_NE(play("videotestsrc num-buffers=1 ! tensorrecord location=" + file + "/sub ! fakesink")
                .find(file),
            std::string::npos);
  EXPECT_NE(play("videotestsrc num-buffers=1 ! tensorrecord ! fakesink").find("location="),
            std::string::npos);
}

TEST(Replay, CyclesThroughStates) {
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", std::string(24, '\0'));
  GstElement* element = gst_element_factory_make("tensorreplay", nullptr);
  g_object_set(element, "location", path.c_str(), "dims", "1,1,6", nullptr);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
  gst_object_unref(element);
}

}  // namespace
}  // namespace keepbox
