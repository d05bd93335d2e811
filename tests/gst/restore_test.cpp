// SPDX-License-Identifier: LGPL-2.1-or-later
// framesave and framerestore around real scalers.
#include <gst/video/video.h>

#include <cstring>

#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;
using test::ods;

constexpr const char* kFull = "video/x-raw,format=RGB,width=192,height=108,framerate=30/1";

/// A replay of one row of pixels of a 64 x 64 input.
std::string replay(const test::TempDir& dir, const test::Row& row) {
  const auto tensor = test::rows({row});
  const std::string path =
      dir.write("t.raw", {reinterpret_cast<const char*>(tensor.values.data()), 24});
  return "tensorreplay loop=true dims=1,1,6 location=" + path +
         " ! boxdecode detector=yolov10 box-units=pixels";
}

GstBuffer* full_frame(guint8 value = 7) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 192 * 108 * 3, nullptr);
  gst_buffer_memset(frame, 0, value, 192 * 108 * 3);
  GST_BUFFER_PTS(frame) = 40 * GST_MSECOND;
  return frame;
}

TEST(Restore, BringsTheFrameBackAndMapsALetterbox) {
  const test::TempDir dir;
  // 192 x 108 in 64 x 64: 64 x 36 pixels with 14 above; frame = (model - 14) * 3.
  Harness h("framesave ! videoconvertscale ! video/x-raw,format=BGR,width=64,height=64,"
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {10, 24, 30, 44, 0.9f, 5}) +
            " ! framerestore", kFull);
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
    Harness h("framesave ! videoconvertscale add-borders=false ! video/x-raw,width=64,height=64,"
              "pixel-aspect-ratio=1/1 ! " + replay(dir, {8, 16, 16, 32, 0.9f, 0}) +
              " ! framerestore resize-mode=" + mode, kFull);
    return boxes(h.run(full_frame())).at(0).box;
  };
  EXPECT_EQ(box("stretch"), (Box{24, 27, 48, 54}));
  EXPECT_EQ(box("letterbox-topleft"), (Box{24, 48, 48, 96}));
}

TEST(Restore, SeesThatAScalerChangedThePixelAspectRatio) {
  const test::TempDir dir;
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! " +
            replay(dir, {8, 16, 16, 32, 0.9f, 0}) + " ! framerestore", kFull);
  EXPECT_EQ(boxes(h.run(full_frame())).at(0).box, (Box{24, 27, 48, 54}));
}

TEST(Restore, ClipsAtTheBorderAndDropsOnlyWhatIsOutside) {
  const test::TempDir dir;
  const auto run = [&](const test::Row& row) {
    Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
              "pixel-aspect-ratio=1/1 ! " + replay(dir, row) + " ! framerestore", kFull);
    return boxes(h.run(full_frame()));
  };
  const auto touching = run({-3, 10, 20, 52, 0.9f, 0});
  ASSERT_EQ(touching.size(), 1u);
  EXPECT_EQ(touching[0].box, (Box{0, 0, 60, 108}));
  EXPECT_TRUE(run({10, 2, 20, 12, 0.9f, 0}).empty()) << "wholly in the padding";
}

TEST(Restore, KeepsPixelsThatWereDrawnOnTheCopy) {
  const test::TempDir dir;
  // The same size: nothing is scaled, so the copy shares memory until somebody writes.
  Harness h("framesave ! tensorreplay loop=true dims=1,1,6 location=" +
            dir.write("t.raw", std::string(24, '\0')) +
            " ! boxdecode detector=yolov10 ! videobalance brightness=1 ! framerestore",
            "video/x-raw,format=I420,width=64,height=64,framerate=30/1");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64 * 64 * 3 / 2, nullptr);
  gst_buffer_memset(frame, 0, 50, 64 * 64 * 3 / 2);
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  guint8 pixel = 0;
  gst_buffer_extract(out.get(), 100, &pixel, 1);
  EXPECT_EQ(pixel, 50);
}

TEST(Restore, KeepsClassesRegionsAndTracks) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
    const FrameBox box{.box = {1, 2, 30, 40}, .score = 0.5f, .label = g_quark_from_string("cat"),
                       .class_id = 3, .anchor = 9, .tracking_id = 77, .tracked_since = 5};
    attach_boxes(buffer, std::span(&box, 1), {.classes = true, .regions = true, .frame = {192, 108}});
  };
  g_signal_connect(mid, "handoff", G_CALLBACK(add), nullptr);
  const Buffer out = h.run(full_frame());
  gst_object_unref(mid);
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tracking_id, 77u);
  EXPECT_EQ(found[0].tracked_since, 5u);
  EXPECT_EQ(found[0].anchor, 9u);
  EXPECT_NE(gst_buffer_get_video_region_of_interest_meta_id(out.get(),
                                                            static_cast<gint>(found[0].od_id)),
            nullptr);
  EXPECT_EQ(found[0].classified, g_quark_from_string("cat"));
}

TEST(Restore, KeepsASecondClassifiersResult) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
    const FrameBox box{.box = {1, 2, 30, 40}, .score = 0.5f, .label = g_quark_from_string("car"),
                       .classified = g_quark_from_string("red"), .class_level = 0.75f};
    attach_boxes(buffer, std::span(&box, 1), {});
  };
  g_signal_connect(mid, "handoff", G_CALLBACK(add), nullptr);
  const Buffer out = h.run(full_frame());
  gst_object_unref(mid);
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(g_quark_to_string(found[0].label), "car");
  EXPECT_STREQ(g_quark_to_string(found[0].classified), "red");
  EXPECT_EQ(found[0].class_level, 0.75f);
}

TEST(Restore, GivesEarlierBoxesBackOnce) {
  const test::TempDir dir;
  Harness h(std::string("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,") +
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {10, 24, 30, 44, 0.9f, 5}) +
            " ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  const FrameBox earlier{.box = {3, 4, 50, 60}, .score = 0.5f, .label = g_quark_from_string("cat"),
                         .class_id = 1, .anchor = 2};
  attach_boxes(frame, std::span(&earlier, 1), {});
  const auto found = boxes(h.run(frame));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{3, 4, 50, 60})) << "as it was, not through the scaler";
  EXPECT_EQ(found[1].box, (Box{30, 30, 90, 90}));
}

TEST(Restore, Nests) {
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=96,height=54,"
            "pixel-aspect-ratio=1/1 ! framesave ! videoconvertscale ! video/x-raw,width=48,height=27,"
            "pixel-aspect-ratio=1/1 ! framerestore ! framerestore", kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(gst_buffer_get_size(out.get()), 192u * 108 * 3);
}

TEST(Restore, AnswersAFlushWithFlushing) {
  Harness h("framesave ! framerestore", kFull);
  GstElement* restore = nullptr;
  for (GList* each = GST_BIN_CHILDREN(h.bin()); each != nullptr; each = each->next)
    if (g_str_has_prefix(GST_OBJECT_NAME(each->data), "keepboxframerestore"))
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
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {0, 0, 64, 64, 0.9f, 0}) +
            " ! framerestore", kFull);
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

}  // namespace
}  // namespace keepbox
