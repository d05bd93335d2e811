// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiation of framesave and framerestore: caps and gaps.
#include <gst/video/video.h>

#include <string>

#include "tests/gst/frames/restore.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;

TEST(Restore, PassesAGapOnBeforeTheFirstFrame) {
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! framerestore", kFull);
  ASSERT_TRUE(gst_harness_push_event(h.get(), gst_event_new_gap(0, GST_SECOND)));
  bool caps = false, gap = false;
  while (GstEvent* event = gst_harness_try_pull_event(h.get())) {
    caps = caps || GST_EVENT_TYPE(event) == GST_EVENT_CAPS;
    gap = gap || (caps && GST_EVENT_TYPE(event) == GST_EVENT_GAP);
    gst_event_unref(event);
  }
  EXPECT_TRUE(gap) << (caps ? "caps without a gap" : "no caps");
  g_autoptr(GstCaps) now = gst_pad_get_current_caps(h.get()->sinkpad);
  gint width = 0;
  gst_structure_get_int(gst_caps_get_structure(now, 0), "width", &width);
  EXPECT_EQ(width, 192);
}

TEST(Restore, SendsCapsOnlyIfTheyChange) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  g_autoptr(GstElement) mid = gst_bin_get_by_name(h.bin(), "mid");
  g_autoptr(GstPad) pad = gst_element_get_static_pad(mid, "sink");
  int count = 0;
  const auto note = +[](GstPad*, GstPadProbeInfo* info, gpointer data) {
    *static_cast<int*>(data) += GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_CAPS;
    return GST_PAD_PROBE_OK;
  };
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note, &count, nullptr);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(h.run(full_frame())) << h.error();
    gst_harness_push_event(h.get(), gst_event_new_tag(gst_tag_list_new_empty()));
  }
  EXPECT_EQ(count, 0) << "they are the same as before";
  h.set_caps("video/x-raw,format=RGB,width=96,height=54,framerate=30/1");
  EXPECT_EQ(count, 1);
}

TEST(Restore, AsksUpstreamForItsCaps) {
  Harness h("framesave ! identity", kFull);
  g_autoptr(GstCaps) caps = gst_pad_peer_query_caps(h.get()->sinkpad, nullptr);
  g_autoptr(GstCaps) other = gst_caps_from_string("video/x-raw,width=100");
  EXPECT_FALSE(gst_caps_can_intersect(caps, other));
}

/// Returns the caps that the sink of a line gets, as "WIDTHxHEIGHT", or the error.
std::string negotiated(const std::string& line) {
  g_autoptr(GError) error = nullptr;
  GstElement* pipeline = gst_parse_launch((line + " ! fakesink name=k").c_str(), &error);
  EXPECT_EQ(error, nullptr) << error->message;
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "k");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  std::string out = "no end";
  if (message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
    g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
    const GstStructure* fields = gst_caps_get_structure(caps, 0);
    gint width = 0, height = 0;
    gst_structure_get_int(fields, "width", &width);
    gst_structure_get_int(fields, "height", &height);
    out = std::to_string(width) + "x" + std::to_string(height) + " " +
          gst_structure_get_string(fields, "format");
  } else if (message != nullptr) {
    g_autoptr(GError) why = nullptr;
    gst_message_parse_error(message, &why, nullptr);
    out = why->message;
  }
  if (message != nullptr) gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return out;
}

TEST(Restore, NegotiatesTheFullFrameWithItsOwnNeighbours) {
  const std::string pair =
      "videotestsrc num-buffers=2 ! framesave ! videoconvertscale "
      "! video/x-raw,format=RGB,width=160,height=160 ! framerestore";
  EXPECT_EQ(negotiated(pair).substr(0, 7), "320x240") << "videotestsrc's own size";
  EXPECT_EQ(negotiated(pair + " ! video/x-raw,format=NV12,width=1280,height=720"), "1280x720 NV12");
  EXPECT_EQ(negotiated(pair + " ! queue ! video/x-raw,format=GRAY8,width=64,height=48"),
            "64x48 GRAY8");
}

TEST(Restore, NegotiatesWithEachBranchOfATee) {
  const std::string branch =
      " t. ! queue ! videoconvertscale ! video/x-raw,width=32,height=32 "
      "! framerestore ! ";
  EXPECT_EQ(negotiated("videotestsrc num-buffers=2 ! framesave ! tee name=t" + branch +
                       "fakesink async=false" + branch + "video/x-raw,format=RGB")
                .substr(0, 11),
            "320x240 RGB");
  EXPECT_EQ(negotiated("videotestsrc num-buffers=2 ! framesave ! tee name=t" + branch +
                       "video/x-raw,format=RGB ! fakesink async=false" + branch + "identity")
                .substr(0, 11),
            "320x240 RGB");
}

TEST(Restore, NegotiatesThroughANestedPair) {
  EXPECT_EQ(negotiated("videotestsrc num-buffers=2 ! framesave ! videoconvertscale "
                       "! video/x-raw,width=160,height=160 ! framesave ! videoconvertscale "
                       "! video/x-raw,width=80,height=80 ! framerestore ! framerestore "
                       "! video/x-raw,format=I420,width=640,height=480"),
            "640x480 I420");
}

/// Waits until the caps of a pad have a width. @return false if they do not get it in 5 s.
bool becomes(GstPad* pad, gint wanted) {
  for (int i = 0; i < 500; ++i) {
    g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
    gint width = 0;
    if (caps != nullptr) gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
    if (width == wanted) return true;
    g_usleep(10000);
  }
  return false;
}

/// Drops the requests for new caps that concern the scaler.
GstPadProbeReturn drop_reconfigure(GstPad*, GstPadProbeInfo* info, gpointer) {
  return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE
             ? GST_PAD_PROBE_DROP
             : GST_PAD_PROBE_OK;
}

TEST(Restore, ForwardsReconfigurationToTheSource) {
  const std::string scale = " ! videoconvertscale ! video/x-raw,width=64,height=64 ! ";
  for (const std::string& pairs :
       {scale + "framerestore", scale + "framesave" + scale + "framerestore ! framerestore"}) {
    SCOPED_TRACE(pairs);
    g_autoptr(GError) error = nullptr;
    GstElement* pipeline = gst_parse_launch(
        ("videotestsrc is-live=true ! video/x-raw,framerate=100/1 ! framesave name=outer" + pairs +
         " ! capsfilter name=f caps=video/x-raw,width=320,height=240 ! fakesink name=k sync=false")
            .c_str(),
        &error);
    ASSERT_EQ(error, nullptr) << error->message;
    g_autoptr(GstElement) filter = gst_bin_get_by_name(GST_BIN(pipeline), "f");
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline), "k");
    g_autoptr(GstElement) save = gst_bin_get_by_name(GST_BIN(pipeline), "outer");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
    g_autoptr(GstPad) saved = gst_element_get_static_pad(save, "src");
    gst_pad_add_probe(saved, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, drop_reconfigure, nullptr, nullptr);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    EXPECT_TRUE(becomes(pad, 320));
    g_autoptr(GstCaps) other = gst_caps_from_string("video/x-raw,width=400,height=300");
    g_object_set(filter, "caps", other, nullptr);
    EXPECT_TRUE(becomes(pad, 400));
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
}

TEST(Restore, RefusesCapsWithoutASize) {
  Harness h("framesave ! framerestore", "video/x-raw,format=RGB");
  EXPECT_NE(h.error().find("width and height"), std::string::npos);
}

TEST(Restore, StartsAgainWithTheSameCaps) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! framesave ! videoconvertscale "
      "! "
      "video/x-raw,width=32,height=32 ! framerestore name=restore resize-mode=letterbox-center ! "
      "video/x-raw,width=64,height=48 ! fakesink name=out sync=false",
      &error);
  ASSERT_EQ(error, nullptr) << error->message;
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  g_autoptr(GstElement) out = gst_bin_get_by_name(GST_BIN(pipeline), "out");
  for (int start = 0; start < 2; ++start) {
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_autoptr(GstMessage) end = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(GST_MESSAGE_TYPE(end), GST_MESSAGE_EOS) << "start " << start;
    g_autoptr(GstPad) pad = gst_element_get_static_pad(out, "sink");
    g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
    EXPECT_NE(caps, nullptr) << "start " << start;
    gst_element_set_state(pipeline, GST_STATE_READY);
  }
  g_autoptr(GstElement) restore = gst_bin_get_by_name(GST_BIN(pipeline), "restore");
  gint mode = -1;
  g_object_get(restore, "resize-mode", &mode, nullptr);
  g_autoptr(GEnumClass) modes = G_ENUM_CLASS(g_type_class_ref(
      g_object_class_find_property(G_OBJECT_GET_CLASS(restore), "resize-mode")->value_type));
  EXPECT_STREQ(g_enum_get_value(modes, mode)->value_nick, "letterbox-center");
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

}  // namespace
}  // namespace keepbox
