// SPDX-License-Identifier: LGPL-2.1-or-later
// Events that framerestore holds until it knows the caps of the full frames.
#include <vector>

#include "gst/base/element.h"
#include "gst/frames/tunnel.h"
#include "tests/gst/frames/restore.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;

constexpr const char* kScaledCaps = "video/x-raw,format=RGB,width=64,height=64";

/// A scaled frame with the full one, as from an element that drops framesave's announcement.
GstBuffer* scaled_frame() {
  g_autoptr(GstCaps) caps = gst_caps_from_string(kFull);
  const Buffer full(full_frame());
  GstBuffer* out = gst_buffer_new_allocate(nullptr, 64 * 64 * 3, nullptr);
  add_saved_frame(out, {full.get(), caps}, *picture_of(caps), nullptr);
  return out;
}

/// Returns the types of the sticky events that came out, without the first one.
std::vector<GstEventType> sticky_events(Harness& h) {
  std::vector<GstEventType> out;
  while (GstEvent* event = gst_harness_try_pull_event(h.get())) {
    const GstEventType type = GST_EVENT_TYPE(event);
    if (GST_EVENT_IS_STICKY(event) && type != GST_EVENT_STREAM_START) out.push_back(type);
    gst_event_unref(event);
  }
  return out;
}

void push_segment(Harness& h) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
}

void push_tag(Harness& h) {
  gst_harness_push_event(h.get(), gst_event_new_tag(gst_tag_list_new_empty()));
}

using Types = std::vector<GstEventType>;

TEST(Restore, SendsHeldEventsAfterTheCapsOfTheFirstFrame) {
  Harness h("framerestore", kScaledCaps);
  push_tag(h);
  EXPECT_EQ(sticky_events(h), Types{});
  ASSERT_TRUE(h.run(scaled_frame())) << h.error();
  EXPECT_EQ(sticky_events(h), (Types{GST_EVENT_CAPS, GST_EVENT_SEGMENT, GST_EVENT_TAG}));
}

TEST(Restore, HoldsNoSegmentOfBeforeAFlush) {
  Harness h("framerestore", kScaledCaps);
  push_tag(h);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  push_segment(h);
  ASSERT_TRUE(h.run(scaled_frame())) << h.error();
  EXPECT_EQ(sticky_events(h), (Types{GST_EVENT_CAPS, GST_EVENT_TAG, GST_EVENT_SEGMENT}));
}

TEST(Restore, SendsHeldEventsBeforeAnEndWithoutFrames) {
  Harness h("framerestore", kScaledCaps);
  push_tag(h);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  EXPECT_EQ(sticky_events(h), (Types{GST_EVENT_SEGMENT, GST_EVENT_TAG, GST_EVENT_EOS}));
}

/// An EOS would declare a stream complete that is not.
TEST(Restore, SendsNoEndAfterAnErrorUntilItStartsAgain) {
  Harness h("framerestore", kScaledCaps);
  EXPECT_FALSE(h.run(full_frame()));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  EXPECT_EQ(sticky_events(h), Types{});
  gst_element_set_state(h.element(), GST_STATE_READY);
  gst_element_set_state(h.element(), GST_STATE_PLAYING);
  gst_harness_push_event(h.get(), gst_event_new_stream_start("another"));
  gst_harness_push_event(h.get(), gst_event_new_eos());
  EXPECT_EQ(sticky_events(h), (Types{GST_EVENT_SEGMENT, GST_EVENT_EOS})) << "only those sent again";
}

TEST(Restore, RefusesScaledCapsWithoutASize) {
  Harness h("framerestore", "video/x-raw,format=RGB");
  test::expect_words(h.error(), {"framerestore", "width and height"});
  EXPECT_FALSE(h.run(scaled_frame()));
}

TEST(Restore, ReportsThatDownstreamRejectsTheFullFrame) {
  Harness h("framerestore ! video/x-raw,width=50 ! identity", kScaledCaps);
  EXPECT_FALSE(h.run(scaled_frame()));
  EXPECT_EQ(h.flow, GST_FLOW_NOT_NEGOTIATED);
  test::expect_words(h.error(), {"rejects the saved frames", "192", "videoconvert"});
}

TEST(Tunnel, LeadsEventsThroughEnclosedPairs) {
  GstEvent* event = tunnel_enclosing_event(tunnel_event(gst_event_new_reconfigure()));
  event = untunnel_event(event);
  EXPECT_EQ(GST_EVENT_TYPE(event), GST_EVENT_CUSTOM_UPSTREAM) << "it is for the enclosing pair";
  event = untunnel_event(event);
  EXPECT_EQ(GST_EVENT_TYPE(event), GST_EVENT_RECONFIGURE);
  EXPECT_EQ(untunnel_event(event), event);
  EXPECT_EQ(tunnel_enclosing_event(event), event);
  gst_event_unref(event);
}

TEST(Tunnel, AnnouncesCapsToTheSamePair) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(kFull);
  GstEvent* event = saved_caps_event(caps);
  EXPECT_EQ(saved_caps_of(event), caps);
  for (int pairs = 0; pairs < 2; ++pairs) {
    event = tunnel_enclosing_event(event);
    EXPECT_EQ(saved_caps_of(event), nullptr);
  }
  event = untunnel_event(event);
  EXPECT_EQ(saved_caps_of(event), nullptr);
  event = untunnel_event(event);
  EXPECT_EQ(saved_caps_of(event), caps);
  gst_event_unref(event);
}

}  // namespace
}  // namespace keepbox
