// SPDX-License-Identifier: LGPL-2.1-or-later
// framesave and framerestore around real scalers.
#include <cstring>

#include "gst/metas/boxes.h"
#include "tests/gst/frames/restore.h"
#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::full_frame;
using test::Harness;
using test::has_matrix;
using test::kFull;
using test::ods;

/// Replays one row in pixels of a 64 x 64 input.
std::string replay_row(const test::TempDir& dir, const test::Row& row) {
  const auto tensor = test::rows({row});
  const std::string path =
      dir.write("t.raw", {reinterpret_cast<const char*>(tensor.values.data()), 24});
  return "tensorreplay loop=true dims=1,1,6 location=" + path + " ! boxdecode detector=yolov10";
}

TEST(Restore, RestoresTheFrameAndMapsALetterbox) {
  const test::TempDir dir;
  // 192 x 108 in 64 x 64: 64 x 36 pixels with 14 above; frame = (model - 14) * 3.
  Harness h(
      "framesave ! videoconvertscale ! video/x-raw,format=BGR,width=64,height=64,"
      "pixel-aspect-ratio=1/1 ! " +
          replay_row(dir, {10, 24, 30, 44, 0.9f, 5}) + " ! framerestore",
      kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(gst_buffer_get_size(out.get()), 192u * 108 * 3);
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(out.get(), &map, GST_MAP_READ));
  EXPECT_EQ(map.data[1000], 7);
  gst_buffer_unmap(out.get(), &map);
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), 40 * GST_MSECOND);
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{30, 30, 90, 90}));
  EXPECT_EQ(found[0].class_id, 5u);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(h.get()->sinkpad);
  gint width = 0;
  gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
  EXPECT_EQ(width, 192);
}

TEST(Restore, MapsTopLeftAndStretch) {
  const test::TempDir dir;
  const auto box = [&](const char* mode) {
    Harness h(
        "framesave ! videoconvertscale add-borders=false ! video/x-raw,width=64,height=64,"
        "pixel-aspect-ratio=1/1 ! " +
            replay_row(dir, {8, 16, 16, 32, 0.9f, 0}) + " ! framerestore resize-mode=" + mode,
        kFull);
    return boxes(h.run(full_frame())).at(0).box;
  };
  EXPECT_EQ(box("stretch"), (Box{24, 27, 48, 54}));
  if (!has_matrix()) {
    EXPECT_EQ(box("letterbox-topleft"), (Box{24, 48, 48, 96}));
    EXPECT_NEAR(box("crop").x1, (8 + 24) * 192.0 / 113, 0.01);
  }
}

TEST(Restore, DetectsAChangedPixelAspectRatio) {
  const test::TempDir dir;
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! " +
                replay_row(dir, {8, 16, 16, 32, 0.9f, 0}) + " ! framerestore",
            kFull);
  EXPECT_EQ(boxes(h.run(full_frame())).at(0).box, (Box{24, 27, 48, 54}));
}

TEST(Restore, ClipsAtTheBorderAndDropsOnlyWhatIsOutside) {
  const test::TempDir dir;
  const auto run = [&](const test::Row& row) {
    Harness h(
        "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
        "pixel-aspect-ratio=1/1 ! " +
            replay_row(dir, row) + " ! framerestore",
        kFull);
    return boxes(h.run(full_frame()));
  };
  const auto touching = run({-3, 10, 20, 52, 0.9f, 0});
  ASSERT_EQ(touching.size(), 1u);
  EXPECT_EQ(touching[0].box, (Box{0, 0, 60, 108}));
  EXPECT_TRUE(run({10, 2, 20, 12, 0.9f, 0}).empty()) << "wholly in the padding";
}

TEST(Restore, UndoesALetterboxOfSubsampledFormatsExactly) {
  if (has_matrix()) GTEST_SKIP() << "GStreamer's own matrix counts";
  const test::TempDir dir;
  // 1280 x 714 in 640 x 640 is 357 rows after 141, or after 140 if rows share chroma.
  const auto top = [&](const char* format) {
    Harness h(std::string("framesave ! videoconvertscale ! video/x-raw,width=640,height=640,"
                          "pixel-aspect-ratio=1/1 ! ") +
                  replay_row(dir, {10, 191, 20, 201, 0.9f, 0}) + " ! framerestore",
              std::string("video/x-raw,width=1280,height=714,framerate=30/1,"
                          "pixel-aspect-ratio=1/1,format=") +
                  format);
    return boxes(h.run(gst_buffer_new_allocate(nullptr, 1280 * 714 * 3, nullptr))).at(0).box.y1;
  };
  EXPECT_EQ(top("I420"), 102);
  EXPECT_EQ(top("GRAY8"), 100);
}

TEST(Restore, UndoesOneScalerAfterTheOther) {
  const test::TempDir dir;
  // 64 x 36 pixels in 64 x 64 as above, which are 32 x 32 in 128 x 32 with 48 on the left.
  Harness h(
      "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,pixel-aspect-ratio=1/1 "
      "! videoconvertscale ! video/x-raw,width=128,height=32,pixel-aspect-ratio=1/1 ! " +
          replay_row(dir, {53, 12, 63, 22, 0.9f, 5}) + " ! framerestore",
      kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).at(0).box, (Box{30, 30, 90, 90}));
}

TEST(Restore, FollowsCropsAndFlips) {
  if (!has_matrix()) GTEST_SKIP() << "GStreamer tells where pixels went from 1.28 on";
  const test::TempDir dir;
  // A crop of 20 from the left; then everything mirrored; then 172 x 108 in 64 x 64.
  Harness h(
      "framesave ! videocrop left=20 ! videoflip method=horizontal-flip ! videoconvertscale "
      "add-borders=false ! video/x-raw,width=86,height=54,pixel-aspect-ratio=1/1 ! " +
          replay_row(dir, {10, 20, 30, 44, 0.9f, 5}) + " ! framerestore",
      kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  // x' = 172 - (x - 20), halved.
  EXPECT_NEAR(found[0].box.x1, 192 - 60, 0.01);
  EXPECT_NEAR(found[0].box.x2, 192 - 20, 0.01);
  EXPECT_NEAR(found[0].box.y1, 40, 0.01);
  EXPECT_NEAR(found[0].box.y2, 88, 0.01);
  EXPECT_EQ(h.warning(), "");
}

TEST(Restore, WarnsIfTheTransformIsUnknown) {
  if (has_matrix()) GTEST_SKIP() << "GStreamer tells where pixels went";
  const test::TempDir dir;
  Harness h(
      "framesave ! videocrop left=20 ! videoconvertscale ! video/x-raw,width=64,height=64,"
      "pixel-aspect-ratio=1/1 ! " +
          replay_row(dir, {10, 20, 30, 44, 0.9f, 5}) + " ! framerestore",
      kFull);
  ASSERT_TRUE(h.run(full_frame()));
  EXPECT_NE(h.warning().find("crop or flip"), std::string::npos);
  ASSERT_TRUE(h.run(full_frame()));
  EXPECT_EQ(h.warning(), "") << "once";
}

TEST(Restore, WarnsAgainAfterTheNextStart) {
  if (has_matrix()) GTEST_SKIP() << "GStreamer tells where pixels went";
  test::Line line(test::source(2) +
                  "framesave ! videocrop left=4 ! framerestore ! fakesink name=out");
  for (size_t start = 1; start < 3; ++start) {
    EXPECT_EQ(line.play(), "");
    EXPECT_EQ(line.warnings().size(), start);
    gst_element_set_state(line.pipeline(), GST_STATE_READY);
  }
}

TEST(Restore, PrefersTheScalerToTheProperty) {
  const test::TempDir dir;
  Harness h(
      "framesave ! videoconvertscale add-borders=false ! video/x-raw,width=64,height=64,"
      "pixel-aspect-ratio=1/1 ! " +
          replay_row(dir, {8, 16, 16, 32, 0.9f, 0}) + " ! framerestore",
      kFull);
  const Box box = boxes(h.run(full_frame())).at(0).box;
  EXPECT_EQ(box, has_matrix() ? (Box{24, 27, 48, 54}) : (Box{24, 6, 48, 54}));
}

TEST(Restore, RestoresEarlierBoxesOnce) {
  const test::TempDir dir;
  Harness h(std::string("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,") +
                "pixel-aspect-ratio=1/1 ! " + replay_row(dir, {10, 24, 30, 44, 0.9f, 5}) +
                " ! framerestore",
            kFull);
  GstBuffer* frame = full_frame();
  FrameBox earlier{.box = {3, 4, 50, 60},
                   .score = 0.5f,
                   .label = g_quark_from_string("cat"),
                   .class_id = 1,
                   .anchor = 2};
  attach_boxes(frame, std::span(&earlier, 1), {});
  const auto found = boxes(h.run(frame));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{3, 4, 50, 60})) << "as it was, not through the scaler";
  EXPECT_EQ(found[1].box, (Box{30, 30, 90, 90}));
}

TEST(Restore, RestoresNestedPairs) {
  Harness h(
      "framesave ! videoconvertscale ! video/x-raw,width=96,height=54,"
      "pixel-aspect-ratio=1/1 ! framesave ! videoconvertscale ! video/x-raw,width=48,height=27,"
      "pixel-aspect-ratio=1/1 ! framerestore ! framerestore",
      kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(gst_buffer_get_size(out.get()), 192u * 108 * 3);
}

TEST(Restore, AnswersAFlushWithFlushing) {
  Harness h("framesave ! framerestore", kFull);
  GstElement* restore = nullptr;
  for (GList* each = GST_BIN_CHILDREN(h.bin()); each != nullptr; each = each->next)
    if (g_str_has_prefix(GST_OBJECT_NAME(each->data), "framerestore"))
      restore = GST_ELEMENT(each->data);
  g_autoptr(GstPad) src = gst_element_get_static_pad(restore, "src");
  GST_PAD_SET_FLUSHING(src);
  EXPECT_FALSE(h.run(full_frame()));
  EXPECT_EQ(h.flow, GST_FLOW_FLUSHING);
  EXPECT_EQ(h.error(), "");
  GST_PAD_UNSET_FLUSHING(src);
}

TEST(Restore, ExplainsAMissingFrame) {
  Harness h("framerestore", kFull);
  EXPECT_FALSE(h.run(full_frame()));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  EXPECT_NE(h.error().find("framesave"), std::string::npos);
}

TEST(Restore, FollowsNewCaps) {
  const test::TempDir dir;
  Harness h(
      "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
      "pixel-aspect-ratio=1/1 ! " +
          replay_row(dir, {0, 0, 64, 64, 0.9f, 0}) + " ! framerestore",
      kFull);
  ASSERT_TRUE(h.run(full_frame()));
  h.set_caps("video/x-raw,format=RGB,width=64,height=128,framerate=30/1");
  const Buffer out = h.run(gst_buffer_new_allocate(nullptr, 64 * 128 * 3, nullptr));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).at(0).box, (Box{0, 0, 64, 128}));
}

TEST(Restore, SurvivesFlushAndStateCycles) {
  Harness h("framesave ! framerestore", kFull);
  ASSERT_TRUE(h.run(full_frame()));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  ASSERT_TRUE(h.run(full_frame()));
  for (const char* name : {"framesave", "framerestore"}) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
      EXPECT_EQ(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    }
    gst_object_unref(element);
  }
}

TEST(Restore, WritesWholePixelsUpToTheFrameEdge) {
  for (const Size frame : {Size{192, 108}, Size{108, 192}}) {
    const float right = static_cast<float>(frame.width), bottom = static_cast<float>(frame.height);
    FrameBox box{.box = {right - 10.25f, bottom - 5.25f, right, bottom}, .score = 0.5f};
    const Buffer buffer = test::empty_frame();
    attach_boxes(buffer.get(), std::span(&box, 1), {.regions = true, .frame = frame});
    const auto whole = test::ods(buffer);
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(whole[0].x + whole[0].w, static_cast<gint>(frame.width));
    EXPECT_EQ(whole[0].y + whole[0].h, static_cast<gint>(frame.height));
    EXPECT_EQ(whole[0].y, static_cast<gint>(frame.height) - 5);
    auto* region = gst_buffer_get_video_region_of_interest_meta_id(buffer.get(), 0);
    double x_max = 0, y_max = 0;
    ASSERT_TRUE(gst_structure_get(gst_video_region_of_interest_meta_get_param(region, "detection"),
                                  "x_max", G_TYPE_DOUBLE, &x_max, "y_max", G_TYPE_DOUBLE, &y_max,
                                  nullptr));
    EXPECT_EQ(x_max, 1);
    EXPECT_EQ(y_max, 1);
  }
}

}  // namespace
}  // namespace keepbox
