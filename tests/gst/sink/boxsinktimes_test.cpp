// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: stream time, time of day, and the clock of a sender.
#include <gst/video/video.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/gst/sink/boxsink.h"

namespace keepbox::test {
namespace {

using nlohmann::json;

/// The timestamps of a frame with that PTS in a stream of that segment.
class BoxSinkTimes : public BoxSink {
 protected:
  void begin() {
    set("location", path("out.jsonl"));
    start();
  }
  void segment(const GstSegment& segment) {
    EXPECT_TRUE(gst_harness_push_event(harness_, gst_event_new_segment(&segment)));
  }
  void push_at(GstClockTime pts) {
    GstBuffer* buffer = with_ours(0);
    GST_BUFFER_PTS(buffer) = pts;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    EXPECT_EQ(push(buffer), GST_FLOW_OK);
  }
  /// Returns the timestamps of all frames in ms; -1 if there is none.
  std::vector<int64_t> times() {
    EXPECT_TRUE(end());
    stop();
    std::istringstream lines(read(path("out.jsonl")));
    std::vector<int64_t> out;
    for (std::string line; std::getline(lines, line);) {
      const json frame = json::parse(line);
      out.push_back(frame.contains("timestamp") ? frame["timestamp"].get<int64_t>() / 1000000 : -1);
    }
    return out;
  }
  static GstSegment from(GstClockTime start, GstClockTime time) {
    GstSegment out;
    gst_segment_init(&out, GST_FORMAT_TIME);
    out.start = out.position = start;
    out.time = time;
    return out;
  }
};

TEST_F(BoxSinkTimes, AreStreamTime) {
  begin();
  segment(from(GST_SECOND * 3600, 0));  // as with RTP and MPEG-TS sources
  push_at(GST_SECOND * 3600);
  push_at(GST_SECOND * 3600 + 40 * GST_MSECOND);
  segment(from(GST_SECOND * 5, GST_SECOND * 90));  // after a seek to 90 s
  push_at(GST_SECOND * 6);
  EXPECT_EQ(times(), (std::vector<int64_t>{0, 40, 91000}));
}

TEST_F(BoxSinkTimes, IncludeFramesBeforeTheSegment) {
  begin();
  segment(from(GST_SECOND, GST_SECOND));
  push_at(980 * GST_MSECOND);  // visible from 1 s on
  EXPECT_EQ(times(), std::vector<int64_t>{980});
}

TEST_F(BoxSinkTimes, FollowRates) {
  begin();
  GstSegment fast = from(GST_SECOND * 10, GST_SECOND * 10);
  fast.rate = 2;  // played faster: stream times are the same
  segment(fast);
  push_at(GST_SECOND * 11);
  fast.rate = 1;
  fast.applied_rate = 2;  // applied by the source, which drops frames
  segment(fast);
  push_at(GST_SECOND * 11);
  GstSegment back = from(0, 0);
  back.rate = -1;
  back.stop = back.position = GST_SECOND * 20;
  segment(back);
  push_at(GST_SECOND * 15);
  push_at(GST_SECOND * 14);
  EXPECT_EQ(times(), (std::vector<int64_t>{11000, 12000, 15000, 14000}));
}

TEST_F(BoxSinkTimes, AreOmittedIfUnknown) {
  begin();
  push_at(GST_CLOCK_TIME_NONE);
  GstSegment bytes;
  gst_segment_init(&bytes, GST_FORMAT_BYTES);
  segment(bytes);
  push_at(GST_SECOND);
  EXPECT_EQ(times(), (std::vector<int64_t>{-1, -1}));
}

GstBuffer* with_time_code(guint index) {
  GstBuffer* buffer = with_ours(index);
  g_autoptr(GDateTime) day = g_date_time_new_utc(2026, 2, 3, 0, 0, 0);
  gst_buffer_add_video_time_code_meta_full(buffer, 25, 1, day, GST_VIDEO_TIME_CODE_FLAGS_NONE, 10,
                                           20, 30, 5, 0);
  return buffer;
}

TEST_F(BoxSink, WritesTheTimeCodeAsTimeOfDay) {
  set("location", path("out.jsonl"));
  set("timestamp-utc", "true");
  start();
  push(with_time_code(0));
  push(with_ours(1));
  EXPECT_TRUE(end());
  stop();
  const std::string text = read(path("out.jsonl"));
  EXPECT_TRUE(mentions(text, R"("system_timestamp":"2026-02-03T10:20:30.200Z")")) << text;
  EXPECT_FALSE(json::parse(text.substr(text.find('\n'))).contains("system_timestamp"));
}

TEST_F(BoxSink, WritesTheTimeOfDayOnRequest) {
  set("location", path("out.jsonl"));
  set("add-system-timestamp", "true");
  set("timestamp-microseconds", "true");
  start();
  const gint64 before = g_get_real_time();
  push(with_ours(0));
  const gint64 after = g_get_real_time();
  EXPECT_TRUE(end());
  stop();
  const std::string text = json::parse(read(path("out.jsonl")))["system_timestamp"];
  EXPECT_EQ(text.size(), 32u) << text;  // with microseconds and an offset, as +01:00
  g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text.c_str(), nullptr);
  ASSERT_NE(time, nullptr) << text;
  const gint64 found =
      g_date_time_to_unix(time) * G_USEC_PER_SEC + g_date_time_get_microsecond(time);
  EXPECT_GE(found, before);
  EXPECT_LE(found, after);
}

TEST_F(BoxSink, WritesTheSendersTime) {
  set("location", path("out.jsonl"));
  set("add-rtp-timestamp", "true");
  start();
  GstBuffer* buffer = with_ours(0);
  g_autoptr(GstCaps) ntp = gst_caps_new_empty_simple("timestamp/x-ntp");
  gst_buffer_add_reference_timestamp_meta(buffer, ntp, (2208988800u + 1700000000ull) * GST_SECOND,
                                          GST_CLOCK_TIME_NONE);
  push(buffer);
  push(with_ours(1));
  EXPECT_TRUE(end());
  stop();
  const std::string text = read(path("out.jsonl"));
  EXPECT_EQ(json::parse(text.substr(0, text.find('\n')))["rtp"]["sender_ntp_unix_timestamp_ns"],
            1700000000000000000);
  EXPECT_FALSE(json::parse(text.substr(text.find('\n'))).contains("rtp"));
}

/// Makes a frame with the clock of its sender.
GstBuffer* sent_at(guint64 since_1900) {
  GstBuffer* buffer = with_ours(0);
  g_autoptr(GstCaps) ntp = gst_caps_new_empty_simple("timestamp/x-ntp");
  gst_buffer_add_reference_timestamp_meta(buffer, ntp, since_1900 * GST_SECOND,
                                          GST_CLOCK_TIME_NONE);
  return buffer;
}

TEST_F(BoxSink, OmitsTimesOfNoDate) {
  constexpr guint64 k1970 = 2208988800u;  // in seconds since 1900
  set("location", path("out.jsonl"));
  set("add-rtp-timestamp", "true");
  start();
  push(sent_at(k1970 - 1));
  push(sent_at(k1970));
  GstBuffer* without_a_day = with_ours(2);
  gst_buffer_add_video_time_code_meta_full(without_a_day, 25, 1, nullptr,
                                           GST_VIDEO_TIME_CODE_FLAGS_NONE, 10, 20, 30, 5, 0);
  push(without_a_day);
  EXPECT_TRUE(end());
  stop();
  std::istringstream lines(read(path("out.jsonl")));
  std::vector<json> out(3);
  for (std::string line; json & each : out) std::getline(lines, line), each = json::parse(line);
  EXPECT_FALSE(out[0].contains("rtp"));
  EXPECT_EQ(out[1]["rtp"]["sender_ntp_unix_timestamp_ns"], 0);
  EXPECT_FALSE(out[2].contains("system_timestamp"));
}

}  // namespace
}  // namespace keepbox::test
