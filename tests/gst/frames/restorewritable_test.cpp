// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that stay writable, and shared ones that stay unchanged.
#include <cstring>

#include "gst/metas/boxes.h"
#include "tests/gst/frames/restore.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;

TEST(Restore, KeepsPixelsThatWereDrawnOnTheCopy) {
  const test::TempDir dir;
  // Same size: nothing is scaled, so the copy shares memory until it is written to.
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

/// Notes the first memory of a writable buffer that is pushed, else nullptr.
GstPadProbeReturn note_writable(GstPad*, GstPadProbeInfo* info, gpointer memory) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_is_writable(buffer) && gst_buffer_is_all_memory_writable(buffer))
    *static_cast<GstMemory**>(memory) = gst_buffer_peek_memory(buffer, 0);
  return GST_PAD_PROBE_OK;
}

TEST(Restore, PassesAWritableFrame) {
  for (const char* between : {"identity", "videoconvertscale ! video/x-raw,width=64,height=64"}) {
    Harness h(std::string("framesave ! ") + between + " ! framerestore", kFull);
    GstMemory* writable = nullptr;
    gst_pad_add_probe(h.get()->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, note_writable, &writable,
                      nullptr);
    GstBuffer* frame = full_frame();
    GstMemory* memory = gst_buffer_peek_memory(frame, 0);
    ASSERT_TRUE(h.run(frame)) << h.error();
    EXPECT_EQ(writable, memory) << between;
  }
}

TEST(Restore, PassesAWritableFrameOfAPool) {
  for (const char* scaled : {"width=320", "width=160"}) {
    g_autoptr(GError) error = nullptr;
    GstElement* pipeline = gst_parse_launch(
        (std::string("videotestsrc num-buffers=3 ! video/x-raw,width=320,height=240 ! framesave "
                     "! videoconvertscale ! video/x-raw,") +
         scaled + " ! framerestore ! fakesink name=k")
            .c_str(),
        &error);
    ASSERT_EQ(error, nullptr);
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "k");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
    GstMemory* writable = nullptr;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note_writable, &writable, nullptr);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) end = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    EXPECT_NE(writable, nullptr) << scaled;
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
  }
}

TEST(Restore, DoesNotChangeASharedFrame) {
  Harness h("framesave ! identity ! framerestore", kFull);
  const Buffer held(full_frame());
  const Buffer out = h.run(gst_buffer_ref(held.get()));
  ASSERT_TRUE(out) << h.error();
  EXPECT_NE(out.get(), held.get());
  EXPECT_EQ(gst_buffer_get_n_meta(held.get(), GST_ANALYTICS_RELATION_META_API_TYPE), 0u);
}

/// Scalers add metas about their own memory.
TEST(Restore, CarriesNothingAboutThePixelsOfTheCopy) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  g_autoptr(GstElement) mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  const auto add = +[](GstElement*, GstBuffer* frame, gpointer other) {
    gst_buffer_add_video_meta(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, 64, 36);
    gst_buffer_add_parent_buffer_meta(frame, static_cast<GstBuffer*>(other));
  };
  const Buffer other = test::empty_frame();
  g_signal_connect(mid, "handoff", G_CALLBACK(add), other.get());
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(gst_buffer_get_video_meta(out.get()), nullptr);
  EXPECT_EQ(gst_buffer_get_parent_buffer_meta(out.get()), nullptr);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(other.get()), 1);
}

}  // namespace
}  // namespace keepbox
