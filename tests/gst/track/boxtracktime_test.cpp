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

/// Runs a frame at a time in ms.
Buffer see_at(Track& h, int ms, std::vector<FrameBox> list) {
  Buffer in = h.frame(0);
  GST_BUFFER_PTS(in.get()) = static_cast<GstClockTime>(ms) * GST_MSECOND;
  attach_boxes(in.get(), list, {.frame = {640, 480}});
  return h.run(in.release());
}

/// Returns the running times at which the object of the only box was first and last seen.
std::pair<GstClockTime, GstClockTime> times_of(const Buffer& frame) {
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  const auto tracks =
      related<GstAnalyticsTrackingMtd>(meta, 0, gst_analytics_tracking_mtd_get_mtd_type());
  if (tracks.size() != 1) return {};
  GstAnalyticsTrackingMtd track = tracks[0];
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
  gboolean lost = FALSE;
  gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost);
  return {first, last};
}

/// A sender report of RTCP moves times back by 1.7 s.
TEST(Boxtrack, GoesOnWhereTheClockWasSetBack) {
  Track h;
  auto x = [frame = 0]() mutable { return 4 * static_cast<float>(frame++); };
  for (int ms = 2000; ms <= 4000; ms += 40) EXPECT_EQ(h.id_of(see_at(h, ms, {at(x())})), 1u);
  for (int ms = 2269; ms <= 3000; ms += 40) {
    const Buffer out = see_at(h, ms, {at(x())});
    EXPECT_EQ(h.id_of(out), 1u) << ms;
    const auto [first, last] = times_of(out);
    EXPECT_EQ(last, static_cast<GstClockTime>(ms) * GST_MSECOND);
    EXPECT_EQ(first, 229 * GST_MSECOND) << "it was followed for as long as before";
  }
  // The time that passes counts again: half a second, then more than one.
  const float still = x();
  for (int ms = 3000; ms <= 4000; ms += 40) see_at(h, ms, {at(still)});
  see_at(h, 4500, {at(still)});
  EXPECT_EQ(h.id_of(see_at(h, 4540, {at(still)})), 1u);
  for (int ms = 4580; ms < 5700; ms += 40) see_at(h, ms, {});
  see_at(h, 5700, {at(still)});
  EXPECT_EQ(h.id_of(see_at(h, 5740, {at(still)})), 2u) << "the track has ended";
}

TEST(Boxtrack, HasNoNegativeTimes) {
  Track h;
  for (int ms = 0; ms <= 1000; ms += 40) see_at(h, ms, {at(10)});
  for (const int ms : {0, 40}) {
    const auto [first, last] = times_of(see_at(h, ms, {at(10)}));
    EXPECT_EQ(first, 0u);
    EXPECT_EQ(last, static_cast<GstClockTime>(ms) * GST_MSECOND);
  }
}

/// A camera whose clock starts again; ids go on.
TEST(Boxtrack, EndsTracksOnceWhereTimesBeginAgain) {
  Track h;
  for (int ms = 0; ms <= 4000; ms += 40) see_at(h, ms, {at(10)});
  std::vector<guint64> found;
  for (int ms = 0; ms <= 160; ms += 40) found.push_back(h.id_of(see_at(h, ms, {at(10)})));
  EXPECT_EQ(found, (std::vector<guint64>{2, 2, 2, 2, 2}));
  for (int ms = 200; ms <= 1400; ms += 40) see_at(h, ms, {});
  see_at(h, 1440, {at(12)});
  EXPECT_EQ(h.id_of(see_at(h, 1480, {at(12)})), 3u) << "20 frames later another object";
}

/// Times of frames that come in another order, by a frame.
TEST(Boxtrack, TakesTimesThatAreAFrameApart) {
  Track h;
  for (const int ms : {0, 40, 120, 80, 160, 240, 200, 280})
    EXPECT_EQ(h.id_of(see_at(h, ms, {at(10)})), 1u) << ms;
}

/// Predicted boxes end in time, too.
TEST(Boxtrack, StopsPredictingWhereTheClockWasSetBack) {
  Track h("predict=true");
  for (int ms = 2000; ms <= 4000; ms += 40) see_at(h, ms, {at(10)});
  const auto predicted = [&](int ms) {
    Buffer in = h.frame(0);
    GST_BUFFER_PTS(in.get()) = static_cast<GstClockTime>(ms) * GST_MSECOND;
    note_skipped(in.get());
    attach_boxes(in.get(), {}, {.frame = {640, 480}});
    return boxes(h.run(in.release())).size();
  };
  EXPECT_EQ(predicted(2500), 1u);
  EXPECT_EQ(predicted(3300), 1u);
  EXPECT_EQ(predicted(3700), 0u);
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
