// SPDX-License-Identifier: LGPL-2.1-or-later
// Full disks, and files that disappear while in use: one error, and no partial file.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "tests/gst/infer/infer.h"
#include "tests/gst/recording/numbered.h"

namespace {

std::string full_at_end;  // end of the names of files whose last bytes find no space; empty: none

bool finds_no_space(int file) {
  if (full_at_end.empty()) return false;
  std::array<char, 4096> name;
  const auto length =
      readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), name.data(), name.size());
  return length > 0 &&
         std::string_view(name.data(), static_cast<size_t>(length)).ends_with(full_at_end);
}

/// Calls the system, and then fails as on a network drive with a quota, if it is to.
int end_file(long number, int file) {
  const bool fails = finds_no_space(file);
  const long done = syscall(number, file);
  if (!fails) return static_cast<int>(done);
  errno = EDQUOT;
  return -1;
}

}  // namespace

// These replace the C library's.
extern "C" [[gnu::visibility("default")]] int close(int file) { return end_file(SYS_close, file); }
extern "C" [[gnu::visibility("default")]] int fsync(int file) { return end_file(SYS_fsync, file); }

namespace keepbox {
namespace {

namespace fs = std::filesystem;
using test::Line;

/// Limits the size of files that this process writes.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit small{bytes, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_;
  void (*before_)(int);
};

/// Errors of our elements, in order. Errors that GStreamer's base class of sources adds after a
/// failure downstream are ignored.
struct Errors {
  std::vector<std::string> texts;

  static GstBusSyncReply note(GstBus*, GstMessage* message, gpointer errors) {
    const std::string type =
        GST_MESSAGE_SRC(message) != nullptr ? G_OBJECT_TYPE_NAME(GST_MESSAGE_SRC(message)) : "";
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR && type.starts_with("Keepbox")) {
      g_autoptr(GError) error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      if (!std::string_view(error->message).starts_with("Internal data stream error"))
        static_cast<Errors*>(errors)->texts.push_back(error->message);
    }
    return GST_BUS_PASS;
  }

  /// Runs a pipeline once. @param before called in READY, before it plays.
  static std::vector<std::string> of(const std::string& line, auto before) {
    Errors out;
    GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    gst_bus_set_sync_handler(bus, note, &out, nullptr);
    EXPECT_EQ(gst_element_set_state(pipeline, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    before();
    if (gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
      GstMessage* end = gst_bus_timed_pop_filtered(
          bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
      EXPECT_NE(end, nullptr) << "no EOS or error in 20 s";
      if (end != nullptr) gst_message_unref(end);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_bus_set_sync_handler(bus, nullptr, nullptr, nullptr);
    gst_object_unref(pipeline);
    return out.texts;
  }
};

void expect_one(const std::vector<std::string>& errors, std::initializer_list<std::string> words) {
  ASSERT_EQ(errors.size(), 1u);
  for (const std::string& word : words)
    EXPECT_NE(errors[0].find(word), std::string::npos) << "'" << word << "' in: " << errors[0];
}

std::string boxes_of(int frames, const test::TempDir& dir) {
  test::record(test::source(frames), dir / "rec");
  return "tensorreplay location=" + (dir / "rec") + " ! boxdecode";
}

TEST(FullDisk, BoxesCauseOneErrorAndNoFile) {
  const test::TempDir dir;
  const std::string line = boxes_of(40, dir) + " ! boxsink location=" + (dir / "out.jsonl");
  const SmallDisk disk(2000);
  expect_one(Errors::of(line, [] {}), {"Cannot write", "out.jsonl", "File too large"});
  EXPECT_FALSE(fs::exists(dir / "out.jsonl"));
  EXPECT_TRUE(fs::exists(dir / "out.jsonl.part"));
}

TEST(FullDisk, EndOfBoxesCausesOneErrorAndNoFile) {
  const test::TempDir dir;
  const std::string line = boxes_of(1, dir) + " ! boxsink format=coco location=";
  ASSERT_TRUE(Errors::of(line + (dir / "whole.json"), [] {}).empty());
  const SmallDisk disk(fs::file_size(dir / "whole.json") - 1);
  expect_one(Errors::of(line + (dir / "out.json"), [] {}), {"out.json", "File too large"});
  EXPECT_FALSE(fs::exists(dir / "out.json"));
}

TEST(FullDisk, TensorsCauseOneErrorAndNoRecording) {
  const test::TempDir dir;
  const std::string line =
      boxes_of(40, dir) + " ! tensorrecord location=" + (dir / "copy") + " ! fakesink";
  {
    const SmallDisk disk(1000);  // space for the tensor of a frame, not for the index
    expect_one(Errors::of(line, [] {}), {"copy", "File too large"});
  }
  EXPECT_FALSE(fs::exists(dir / "copy/frames.jsonl"));
  EXPECT_NE(test::play("tensorreplay location=" + (dir / "copy") + " ! fakesink"), "");
}

TEST(FullDisk, ErrorsOfTheLastBytesAreReported) {
  const test::TempDir dir;
  const std::string boxes = boxes_of(3, dir);
  for (const std::string late : {".npy", "frames.jsonl.part"}) {
    full_at_end = late;
    expect_one(
        Errors::of(boxes + " ! tensorrecord location=" + (dir / "copy") + " ! fakesink", [] {}),
        {"copy", late, "Disk quota exceeded"});
    full_at_end.clear();
    EXPECT_FALSE(fs::exists(dir / "copy/frames.jsonl"));
  }
  full_at_end = "out.jsonl.part";
  expect_one(Errors::of(boxes + " ! boxsink location=" + (dir / "out.jsonl"), [] {}),
             {"out.jsonl", "Disk quota exceeded"});
  full_at_end.clear();
  EXPECT_FALSE(fs::exists(dir / "out.jsonl"));
}

using LostModel = test::Inference;

TEST_F(LostModel, ModelBeforePlaying) {
  const std::string line =
      "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=64,height=48 ! " +
      infer(test::identity_model({1, 3, 32, 32})) + " ! fakesink";
  const auto errors = Errors::of(line, [&] { fs::remove(dir_ / "model.onnx"); });
  // It is either read on the way to READY or missed on the way to PLAYING.
  if (!errors.empty()) expect_one(errors, {"model.onnx", "model-file"});
  expect_one(Errors::of("videotestsrc num-buffers=3 ! tensorinfer model-file=" +
                            (dir_ / "model.onnx") + " ! fakesink",
                        [] {}),
             {"model.onnx", "model-file"});
}

TEST(LostFiles, RecordingLostBeforePlayingIsAnError) {
  const test::TempDir dir;
  const std::string line = boxes_of(5, dir) + " ! fakesink";
  expect_one(Errors::of(line, [&] { fs::remove_all(dir / "rec"); }), {"rec", "location="});
}

TEST(LostFiles, TensorsLostWhilePlayingAreAnError) {
  const test::TempDir dir;
  const std::string from = boxes_of(200, dir);
  Line line(from + " ! identity name=out ! boxsink location=" + (dir / "out.jsonl"));
  int frames = 0;
  line.probe("out", "src", [&](GstBuffer*&) {
    if (++frames == 3) fs::remove_all(dir / "rec");
    return true;
  });
  const std::string error = line.play();
  EXPECT_NE(error.find(".npy"), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(dir / "out.jsonl"));
}

TEST(LostFiles, TensorThatShrinksWhilePlayingIsAnError) {
  const test::TempDir dir;
  const std::string from = boxes_of(200, dir);
  Line line(from + " ! identity name=out ! fakesink");
  int frames = 0;
  line.probe("out", "src", [&](GstBuffer*&) {
    if (++frames == 3) fs::resize_file(dir / "rec/000150.0.npy", 70);
    return true;
  });
  const std::string error = line.play();
  EXPECT_NE(error.find("000150.0.npy"), std::string::npos) << error;
  EXPECT_GE(frames, 100);
}

}  // namespace
}  // namespace keepbox
