// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorinfer in its pipeline: states, seeks, changed models, several instances.
#include <algorithm>
#include <cstring>

#include "tests/gst/infer/infer.h"
#include "tests/gst/infer/player.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::identity_model;
using test::InferLifecycle;
using test::kAll;
using test::kRedSrc;
using test::microseconds;
using test::painted;
using test::patches;
using test::Player;
using test::raw;
using test::Rect;
using test::stat_text;
using test::tensors_of;

TEST_F(InferLifecycle, PlaysToTheEnd) {
  Player line(
      "videotestsrc num-buffers=20 pattern=red ! video/x-raw,format=I420,width=64,height=48 ! " +
      infer(test::ultralytics_like({96, 96})) + " ! boxdecode ! fakesink name=out");
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  EXPECT_EQ(line.end(), "");
  EXPECT_EQ(line.count("out"), 20u);
  EXPECT_TRUE(line.to(GST_STATE_NULL));
}

TEST_F(InferLifecycle, SurvivesManyStarts) {
  Player line(kRedSrc + infer(test::ultralytics_like({96, 96})) +
              " ! boxdecode ! fakesink name=out");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(line.to(GST_STATE_PLAYING)) << i;
    ASSERT_TRUE(has_box(line.last("out"), "disc", kAll, 4)) << i;
    ASSERT_TRUE(line.to(i % 5 == 4 ? GST_STATE_NULL : GST_STATE_READY)) << i;
  }
}

TEST_F(InferLifecycle, StopsDuringInference) {
  for (int i = 0; i < 10; ++i) {
    Player line(kRedSrc + infer(identity_model({1, 3, 512, 512})) + " ! fakesink");
    EXPECT_NE(gst_element_set_state(line.pipeline(), GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    g_usleep(static_cast<gulong>(i) * 2000);
    EXPECT_TRUE(line.to(GST_STATE_NULL));
  }
}

/// A frame takes long, and neither a flush nor a stop waits for it. Another element's run of the
/// same model continues.
TEST_F(InferLifecycle, FlushAndStopInterruptALongFrame) {
  const std::string line = kRedSrc + infer(test::slow_model(300)) + " ! fakesink name=out";
  Player whole(line);
  const gint64 frame = microseconds([&] { ASSERT_TRUE(whole.to(GST_STATE_PAUSED)); });
  gst_element_set_state(whole.pipeline(), GST_STATE_PLAYING);
  const auto longest_interruption = [&] {
    Player left(line);
    EXPECT_TRUE(left.to(GST_STATE_PAUSED));
    gst_element_set_state(left.pipeline(), GST_STATE_PLAYING);
    const auto during_a_run = [&](auto act) {
      g_usleep(static_cast<gulong>(frame / 5));
      return microseconds(act);
    };
    const gint64 flushed = during_a_run([&] {
      EXPECT_TRUE(
          gst_element_seek_simple(left.pipeline(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
    });
    const gint64 stopped =
        during_a_run([&] { gst_element_set_state(left.pipeline(), GST_STATE_READY); });
    EXPECT_TRUE(left.to(GST_STATE_PAUSED)) << "a whole frame";
    EXPECT_EQ(left.errors(), "");
    return std::max(flushed, stopped);
  };
  EXPECT_LT(test::shortest(frame / 3, longest_interruption), frame / 3) << "of " << frame;
  EXPECT_EQ(whole.errors(), "");
}

TEST_F(InferLifecycle, FollowsSeeks) {
  Player line(
      "videotestsrc num-buffers=100 pattern=red ! video/x-raw,format=RGB,width=64,height=48,"
      "framerate=100/1 ! " +
      infer(test::ultralytics_like({96, 96})) + " ! boxdecode ! fakesink sync=true name=out");
  ASSERT_TRUE(line.to(GST_STATE_PAUSED));
  for (int i = 9; i > 5; --i) {
    const auto flags = static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE);
    ASSERT_TRUE(
        gst_element_seek_simple(line.pipeline(), GST_FORMAT_TIME, flags, i * 100 * GST_MSECOND));
    ASSERT_TRUE(line.settled());
    const Buffer shown = line.last("out");
    EXPECT_GE(GST_BUFFER_PTS(shown.get()), i * 100 * GST_MSECOND) << "it may be playing";
    EXPECT_LT(GST_BUFFER_PTS(shown.get()), (i + 1) * 100 * GST_MSECOND);
    EXPECT_TRUE(has_box(shown, "disc", kAll, 4)) << i;
    ASSERT_TRUE(line.to(i % 2 == 0 ? GST_STATE_PLAYING : GST_STATE_PAUSED));
  }
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  EXPECT_EQ(line.end(), "");
}

TEST_F(InferLifecycle, WorksTwiceInALine) {
  const std::string caps = raw("RGB", 640, 360);
  const std::string second = file(test::ultralytics_like({192, 320}), "second.onnx");
  Harness h(infer(test::ultralytics_like({320, 320})) +
                " ! boxdecode ! tensorinfer model-file=" + second + " ! boxdecode",
            caps);
  for (int i = 0; i < 3; ++i) {
    const Rect red{60 * i + 40, 60, 60 * i + 200, 200};
    const Buffer out = h.run(painted(caps, patches(red)));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(tensors_of(out.get()).size(), 2u);
    const auto found = boxes(out);
    ASSERT_EQ(found.size(), 2u);
    for (const FrameBox& each : found) EXPECT_NEAR(each.box.x1, red.x1, 2);
  }
}

/// Two trainings with best.onnx in different folders and the same classes.
TEST_F(InferLifecycle, WorksTwiceInALineWithFilesOfOneName) {
  const std::string caps = raw("RGB", 640, 360);
  for (const char* folder : {"a", "b"}) std::filesystem::create_directory(dir_.path() / folder);
  const std::string a = file(test::ultralytics_like({320, 320}), "a/best.onnx");
  const std::string b = file(test::ultralytics_like({320, 320}), "b/best.onnx");
  Harness h(
      "tensorinfer model-file=" + a + " ! tensorinfer model-file=" + b + " ! boxdecode ! boxdecode",
      caps);
  for (int i = 0; i < 3; ++i) {
    const Buffer out = h.run(painted(caps, patches({100, 60, 300, 200})));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(boxes(out).size(), 2u);
  }
}

TEST_F(InferLifecycle, WorksInTwoBranchesWithOneFile) {
  const std::string branch =
      "queue ! " + infer(test::ultralytics_like({96, 96})) + " ! boxdecode ! ";
  Player line(
      "videotestsrc num-buffers=30 pattern=red ! video/x-raw,format=RGB,width=64,height=48 ! "
      "tee name=t ! " +
      branch + "fakesink name=out t. ! " + branch + "fakesink name=out2");
  ASSERT_TRUE(line.to(GST_STATE_PLAYING));
  EXPECT_EQ(line.end(), "");
  for (const char* sink : {"out", "out2"}) {
    EXPECT_EQ(line.count(sink), 30u);
    const Buffer last = line.last(sink);
    EXPECT_TRUE(has_box(last, "disc", kAll, 4)) << sink;
    EXPECT_EQ(boxes(last).size(), 1u) << sink;
    EXPECT_EQ(tensors_of(last.get()).size(), 1u) << "the other branch keeps its own";
  }
}

TEST_F(InferLifecycle, ReplaysSkippedFrames) {
  const std::string video =
      "videotestsrc num-buffers=7 pattern=red ! video/x-raw,format=RGB,width=64,height=48 ! ";
  const std::string location = " location=" + (dir_.path() / "recording").string();
  Player record(video + infer(test::ultralytics_like({96, 96}), "interval=3") + " ! tensorrecord" +
                location + " ! fakesink");
  ASSERT_TRUE(record.to(GST_STATE_PLAYING));
  ASSERT_EQ(record.end(), "");
  ASSERT_TRUE(record.to(GST_STATE_NULL));
  Player replay(video + "tensorreplay" + location + " ! boxdecode name=decode ! fakesink name=out");
  ASSERT_TRUE(replay.to(GST_STATE_PLAYING));
  EXPECT_EQ(replay.end(), "");
  EXPECT_EQ(replay.count("out"), 7u);
  g_autoptr(GstElement) decode = replay.get("decode");
  EXPECT_EQ(test::counted(decode, "skipped-frames"), 4u);
  EXPECT_EQ(test::counted(decode, "boxes"), 3u);
}

TEST_F(InferLifecycle, ReplaysACrop) {
  const std::string caps = raw("RGB", 640, 360);
  const std::string location = " location=" + (dir_.path() / "recording").string();
  Player record("videotestsrc num-buffers=1 pattern=red ! " + caps + " ! " +
                infer(test::ultralytics_like({320, 320}), "resize-mode=crop") + " ! tensorrecord" +
                location + " ! fakesink");
  ASSERT_TRUE(record.to(GST_STATE_PLAYING));
  ASSERT_EQ(record.end(), "");
  ASSERT_TRUE(record.to(GST_STATE_NULL));
  Harness replay("identity ! tensorreplay" + location + " ! boxdecode", caps);
  const Buffer out = replay.run(painted(caps, test::grey));
  ASSERT_TRUE(out) << replay.error();
  EXPECT_TRUE(has_box(out, "disc", {140, 0, 500, 360}, 4)) << "what the model saw";
}

/// Without the former, decoders copy each frame to remove row padding; with the latter, videocrop
/// would leave the frame uncropped.
TEST_F(InferLifecycle, ForwardsAllocationWithoutCropMeta) {
  const std::string caps = raw("I420", 64, 48);
  Harness h(infer(test::ultralytics_like({96, 96})) + " ! boxdecode", caps);
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
  ASSERT_TRUE(h.run(painted(caps, test::grey))) << h.error();
  g_autoptr(GstCaps) of = gst_caps_from_string(caps.c_str());
  g_autoptr(GstQuery) query = gst_query_new_allocation(of, TRUE);
  ASSERT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
  EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  EXPECT_FALSE(gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr));
}

TEST(InferProperties, HaveRanges) {
  g_autoptr(GstElement) element = gst_element_factory_make("tensorinfer", nullptr);
  const auto range = [&](const char* name) {
    const auto* spec =
        G_PARAM_SPEC_INT(g_object_class_find_property(G_OBJECT_GET_CLASS(element), name));
    return std::pair(spec->minimum, spec->maximum);
  };
  EXPECT_EQ(range("pad-value"), std::pair(-1, 255));
  EXPECT_EQ(range("device-id"), std::pair(-1, G_MAXINT));
}

TEST_F(InferLifecycle, ResetsCountersAfterAStop) {
  const std::string caps = raw("RGB", 64, 48);
  Harness h(infer(test::ultralytics_like({96, 96}), "provider=cpu threads=1"), caps);
  ASSERT_TRUE(h.run(painted(caps, test::grey))) << h.error();
  EXPECT_EQ(test::counted(h.element(), "frames"), 1u);
  gst_element_set_state(h.element(), GST_STATE_READY);
  EXPECT_EQ(gst_element_set_state(h.element(), GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  EXPECT_EQ(test::counted(h.element(), "frames"), 0u);
  EXPECT_EQ(stat_text(h.element(), "provider"), "cpu");
}

TEST_F(InferLifecycle, ReportsTheSetup) {
  const std::string caps = raw("RGB", 64, 48);
  Harness h(infer(test::ultralytics_like({96, 96}), "provider=cpu threads=1"), caps);
  ASSERT_TRUE(h.run(painted(caps, test::grey))) << h.error();
  EXPECT_EQ(stat_text(h.element(), "provider"), "cpu");
  EXPECT_NE(stat_text(h.element(), "provider-reason"), "");
  EXPECT_NE(stat_text(h.element(), "recognized"), "");
  EXPECT_EQ(test::counted(h.element(), "frames"), 1u);
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  EXPECT_STREQ(gst_structure_get_name(stats), "tensorinfer-stats");
  for (const char* field : {"preprocess-us", "inference-us", "time-per-frame-us"}) {
    double time = -1;
    EXPECT_TRUE(gst_structure_get_double(stats, field, &time)) << field;
    EXPECT_GT(time, 0) << field;
  }
}

}  // namespace
}  // namespace keepbox
