// SPDX-License-Identifier: LGPL-2.1-or-later
// boxtrack through time: misses, gaps, seeks, events that end tracks.
#include "tests/gst/track/boxtrack.h"

#include <functional>

namespace keepbox::test {
namespace {

TEST(Boxtrack, GoesOnAfterAMiss) {
  Track h;
  h.walk(0, 10);
  EXPECT_TRUE(boxes(h.see(10, {})).empty());
  EXPECT_EQ(h.id_of(h.walk(11, 12)), 1u);
}

TEST(Boxtrack, CountsTimeNotFrames) {
  // 0.96 and 1.12 seconds without the box, on few frames.
  for (const guint gap : {24u, 28u}) {
    Track h;
    for (guint i = 0; i < 10; ++i) h.see(i, {at(10)});
    h.see(9 + gap / 2, {});
    for (guint i = 9; i < 11; ++i) h.see(i + gap, {at(10)});
    EXPECT_EQ(h.id_of(h.see(11 + gap, {at(10)})), gap == 24 ? 1u : 2u) << gap;
  }
}

/// Runs a frame with a box, but without a time.
Buffer see_untimed(Track& h, float x) {
  Buffer in = empty_frame();
  FrameBox list[] = {at(x)};
  attach_boxes(in.get(), list, {});
  return h.run(in.release());
}

TEST(Boxtrack, TakesFramesWithoutTimes) {
  Track h;
  for (guint i = 0; i < 30; ++i)
    EXPECT_EQ(h.id_of(see_untimed(h, kSpeed * static_cast<float>(i))), 1u);
}

TEST(Boxtrack, CountsGapEventsAsTime) {
  // Next to frames without times, whose time is the sum of what came before.
  for (const GstClockTime gap : {GST_SECOND / 2, 5 * GST_SECOND}) {
    Track h;
    for (guint i = 0; i < 10; ++i) see_untimed(h, 10);
    gst_harness_push_event(h.get(), gst_event_new_gap(10 * kStep, gap));
    see_untimed(h, 10);
    EXPECT_EQ(h.id_of(see_untimed(h, 10)), gap < GST_SECOND ? 1u : 2u) << gap;
  }
}

TEST(Boxtrack, CountsGapEventsOnce) {
  // The times of frames have the gap in them.
  Track h;
  for (guint i = 0; i < 10; ++i) h.see(i, {at(10)});
  gst_harness_push_event(h.get(), gst_event_new_gap(10 * kStep, 20 * kStep));
  h.see(30, {at(10)});
  EXPECT_EQ(h.id_of(h.see(31, {at(10)})), 1u);
}

TEST(Boxtrack, FollowsAVideoBackwards) {
  Track h;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = -1;
  segment.stop = 100 * kStep;
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  for (guint i = 90; i > 60; --i)
    EXPECT_EQ(h.id_of(h.see(i, {at(kSpeed * static_cast<float>(i))})), 1u) << i;
}

/// Returns the id of a box that stays after an event.
guint64 id_after(const std::function<void(Track&)>& change) {
  Track h;
  for (guint i = 0; i < 5; ++i) h.see(i, {at(10)});
  change(h);
  h.see(5, {at(10)});
  return h.id_of(h.see(6, {at(10)}));
}

TEST(Boxtrack, EndsTracksWithWhatEndsThem) {
  const auto push = [](Track& h, GstEvent* event) { gst_harness_push_event(h.get(), event); };
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  const auto same = [&](Track& h) { push(h, gst_event_new_segment(&segment)); };
  EXPECT_EQ(id_after([](Track&) {}), 1u);
  EXPECT_EQ(id_after(same), 1u) << "the same segment";
  EXPECT_EQ(id_after([&](Track& h) { h.set_caps(kTrackCaps); }), 1u) << "the same caps";
  EXPECT_EQ(id_after([&](Track& h) {
              h.set_caps("video/x-raw,format=RGB,width=640,height=480,framerate=5/1");
            }),
            1u)
      << "another frame rate";
  EXPECT_EQ(id_after([&](Track& h) {
              h.set_caps("video/x-raw,format=RGB,width=320,height=240,framerate=25/1");
            }),
            2u)
      << "another size";
  EXPECT_EQ(id_after([&](Track& h) {
              push(h, gst_event_new_flush_start());
              push(h, gst_event_new_flush_stop(TRUE));
              same(h);
            }),
            2u)
      << "a flush";
  EXPECT_EQ(id_after([&](Track& h) {
              GstSegment other = segment;
              other.start = other.time = GST_SECOND;
              other.base = GST_SECOND;
              push(h, gst_event_new_segment(&other));
            }),
            2u)
      << "another segment";
  EXPECT_EQ(id_after([&](Track& h) { h.set("method", 1); }), 2u) << "another method";
  EXPECT_EQ(id_after([&](Track& h) { h.set("match-iou", 0.3); }), 1u) << "a parameter";
  const auto again = [&](Track& h) {
    g_autofree gchar* id = gst_pad_get_stream_id(h.get()->srcpad);
    push(h, gst_event_new_stream_start(id));
    h.set_caps(kTrackCaps);
    same(h);
  };
  EXPECT_EQ(id_after(again), 2u) << "the same stream from its start";
  EXPECT_EQ(id_after([&](Track& h) {
              push(h, gst_event_new_eos());
              again(h);
            }),
            2u)
      << "EOS, and the same stream again";
  EXPECT_EQ(id_after([&](Track& h) {
              push(h, gst_event_new_stream_start("another"));
              h.set_caps(kTrackCaps);
              same(h);
            }),
            1u)
      << "a new stream counts anew";
}

}  // namespace
}  // namespace keepbox::test
