// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests properties, seeks and state changes while frames pass through elements in several threads.
#include <chrono>
#include <thread>

#include "tests/gst/frames.h"
#include "tests/soak/line.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

constexpr int kRounds = 40;

bool is_ours(GstElement* element) {
  return g_str_has_prefix(G_OBJECT_TYPE_NAME(element), "Keepbox");
}

bool changes_while_playing(const GParamSpec* spec) {
  return (spec->flags & G_PARAM_WRITABLE) != 0 && (spec->flags & G_PARAM_READABLE) != 0 &&
         (spec->flags & (GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED)) == 0 &&
         (spec->flags & (G_PARAM_CONSTRUCT_ONLY | G_PARAM_DEPRECATED)) == 0 &&
         spec->owner_type != GST_TYPE_OBJECT;
}

/// Reads a property, and writes its value back if it may change while frames pass.
void touch(GstElement* element, const GParamSpec* spec) {
  if ((spec->flags & G_PARAM_READABLE) == 0) return;
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  if (changes_while_playing(spec)) g_object_set_property(G_OBJECT(element), spec->name, &value);
  g_value_unset(&value);
}

int touch_all(GstElement* element) {
  if (!is_ours(element)) return 0;
  guint count = 0;
  g_autofree GParamSpec** specs =
      g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; ++i) touch(element, specs[i]);
  return 1;
}

/// Returns the number of our elements.
int touch_line(GstElement* pipeline) {
  int ours = 0;
  GstIterator* all = gst_bin_iterate_recurse(GST_BIN(pipeline));
  GValue each = G_VALUE_INIT;
  while (gst_iterator_next(all, &each) == GST_ITERATOR_OK) {
    ours += touch_all(GST_ELEMENT(g_value_get_object(&each)));
    g_value_reset(&each);
  }
  g_value_unset(&each);
  gst_iterator_free(all);
  return ours;
}

/// Pauses, resumes, seeks and restarts the pipeline, depending on the round.
void disturb(GstElement* pipeline, int round) {
  if (round % 8 == 5) gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
  if (round % 10 == 7) gst_element_set_state(pipeline, GST_STATE_PAUSED);
  if (round % 10 == 8) gst_element_set_state(pipeline, GST_STATE_PLAYING);
  if (round % 20 == 19) {
    gst_element_set_state(pipeline, GST_STATE_READY);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
  }
}

void keep_busy(const std::string& line, int elements) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(line.c_str(), &error);
  ASSERT_EQ(error, nullptr) << error->message;
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_EQ(touch_line(pipeline), elements);
    disturb(pipeline, round);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  gst_element_set_state(pipeline, GST_STATE_NULL);  // empties the bus
  if (message != nullptr) gst_message_parse_error(message, &error, nullptr);
  EXPECT_EQ(error, nullptr) << error->message;
  g_clear_error(&error);
  gst_object_unref(pipeline);
}

class PipelineRaces : public testing::Test {
 protected:
  PipelineRaces() { soak::write_tensors(folder_.path().string()); }

  std::string tensors(const std::string& name, const std::string& dims) const {
    return "tensorreplay loop=true type=float32 location=" + (folder_ / name) + ".raw dims=" + dims;
  }

  test::TempDir folder_;
};

constexpr const char* kSource = "videotestsrc ! video/x-raw,format=RGB,width=96,height=64 ! ";
constexpr const char* kQueue = " ! queue max-size-buffers=2 ! ";

TEST_F(PipelineRaces, FullPipelineToAFileHasNoRace) {
  keep_busy(kSource + std::string("framesave") + kQueue +
                "videoconvertscale ! video/x-raw,width=64,height=64 ! " +
                tensors("segments", "1,26,84") + kQueue + tensors("prototypes", "1,16,16,16") +
                kQueue + "boxdecode mask-size=frame threads=3" + kQueue + "framerestore" + kQueue +
                "boxoverlay" + kQueue + "boxsink location=/dev/null",
            // each tensorreplay is a bin with one more of our elements
            9);
}

TEST_F(PipelineRaces, TwoBranchesOfOneFrameHaveNoRace) {
  const std::string branch = " ! boxdecode detector=yolov8-pose num-classes=6" +
                             std::string(kQueue) + "boxoverlay ! fakesink async=false ";
  keep_busy(kSource + tensors("pose", "1,25,84") + " ! tee name=t t. ! queue" + branch +
                "t. ! queue" + branch + "t. ! queue ! tensorrecord location=" +
                (folder_ / "recording") + " ! fakesink async=false",
            7);
}

}  // namespace
}  // namespace keepbox
