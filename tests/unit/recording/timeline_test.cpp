// SPDX-License-Identifier: LGPL-2.1-or-later
// Lookup of the recorded frame for a time: at boundaries, when repeated, and far away.
#include "gst/recording/timeline.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

TEST(Timeline, FrameLastsUntilTheNext) {
  const Timeline times({0, 100 * kMillisecond, 400 * kMillisecond}, 50 * kMillisecond);
  EXPECT_EQ(times.end(), 450 * kMillisecond);
  EXPECT_EQ(times.frame_at(0), 0);
  EXPECT_EQ(times.frame_at(98 * kMillisecond), 0);
  EXPECT_EQ(times.frame_at(99 * kMillisecond), 1);
  EXPECT_EQ(times.frame_at(100 * kMillisecond), 1);
  EXPECT_EQ(times.frame_at(398 * kMillisecond), 1);
  EXPECT_EQ(times.frame_at(400 * kMillisecond), 2);
  EXPECT_EQ(times.frame_at(448 * kMillisecond), 2);
  EXPECT_EQ(times.frame_at(450 * kMillisecond), 3);
  EXPECT_EQ(times.frame_at(-1), 0);
  EXPECT_EQ(times.frame_at(-2 * kMillisecond), -1);
  EXPECT_EQ(times.frame_at(450 * kMillisecond * 7 + 100 * kMillisecond), 22);
  EXPECT_EQ(times.frame_at(-450 * kMillisecond * 7), -21);
}

TEST(Timeline, ClippedFrameIsNotTheNext) {
  const Timeline times({0, 100 * kMillisecond}, 100 * kMillisecond);
  EXPECT_EQ(times.frame_at(99'500'000, 100 * kMillisecond), 1);
  EXPECT_EQ(times.frame_at(99'500'000, 500'000), 0);
}

TEST(Timeline, FindsStartTimes) {
  const Timeline times({-7, 0, 1, 1000, 5 * kMillisecond}, 0);
  for (int64_t frame = -50; frame < 50; ++frame)
    EXPECT_EQ(times.frame_at(times.begin_of(frame)), frame);
}

TEST(Timeline, RateMatchesItsListOfTimes) {
  for (const FrameRate rate : {FrameRate{30, 1}, {30000, 1001}, {1, 7}, {1'000'000'000, 1}}) {
    std::vector<int64_t> times;
    for (int64_t i = 0; i <= 90; ++i)
      times.push_back(i * 1'000'000'000 / rate.numerator * rate.denominator +
                      i * 1'000'000'000 % rate.numerator * rate.denominator / rate.numerator);
    const int64_t last = times[90] - times[89];
    times.pop_back();
    const Timeline list(times, last), even(90, rate);
    EXPECT_EQ(even.frames(), 90);
    EXPECT_EQ(even.end(), list.end());
    EXPECT_EQ(even.interval(), list.interval());
    for (int64_t frame = -200; frame < 200; ++frame) {
      const int64_t begin = list.begin_of(frame);
      EXPECT_EQ(even.begin_of(frame), begin);
      for (const int64_t time : {begin - 2 * kMillisecond, begin - 1, begin, begin + 1})
        EXPECT_EQ(even.frame_at(time), list.frame_at(time)) << rate.numerator << " " << time;
    }
  }
}

TEST(Timeline, RateTakesNoMemory) {
  const Timeline times(int64_t{1} << 60, {30, 1});
  EXPECT_EQ(times.frame_at(times.begin_of(int64_t{1} << 30)), int64_t{1} << 30);
  for (const FrameRate rate : {FrameRate{INT32_MAX, 1}, {1, 100'000'000}}) {
    const Timeline odd(3, rate);
    EXPECT_EQ(odd.frame_at(odd.begin_of(2)), 2);
    EXPECT_LT(odd.begin_of(1), odd.begin_of(2));
  }
}

TEST(Timeline, SingleFrameHasADuration) {
  const Timeline times({5}, 0);
  EXPECT_EQ(times.frame_at(5), 0);
  EXPECT_EQ(times.frame_at(5 + 33 * kMillisecond), 1);
}

TEST(Timeline, WorksAtTheLimitsOfTime) {
  const Timeline times({-Timeline::kLatest, Timeline::kLongest - Timeline::kLatest},
                       Timeline::kLongest);
  for (const int64_t time : {INT64_MIN, INT64_MAX, Timeline::kLatest, -Timeline::kLatest})
    (void)times.begin_of(times.frame_at(time));
  for (const int64_t frame : {INT64_MIN, INT64_MAX}) (void)times.begin_of(frame);
  EXPECT_EQ(times.frame_at(-Timeline::kLatest), 0);
}

TEST(FrameFinder, CountsWithoutTimes) {
  FrameFinder finder(3, {}, SyncMode::kAuto, 0);
  for (size_t i = 0; i < 3; ++i) {
    const auto found = finder.next({.time = int64_t(i) * 500 * kMillisecond}, false);
    EXPECT_EQ(found.where, FrameFinder::Where::kFrame);
    EXPECT_EQ(found.frame, i);
  }
  EXPECT_EQ(finder.next({}, false).where, FrameFinder::Where::kEnd);
  EXPECT_EQ(finder.next({}, true).frame, 1u);
}

TEST(FrameFinder, FindsAFrameClippedByASeekByRate) {
  FrameFinder finder(100, {}, SyncMode::kAuto, 0);
  finder.seek();
  const FrameRate rate{10, 1};
  EXPECT_EQ(
      finder.next({.time = 799 * kMillisecond + 500'000, .duration = 500'000, .rate = rate}, false)
          .frame,
      7u);
  finder.seek();
  EXPECT_EQ(
      finder.next({.time = 780 * kMillisecond, .duration = 20 * kMillisecond, .rate = rate}, false)
          .frame,
      7u);
  finder.seek();
  EXPECT_EQ(
      finder.next({.time = 799'999'999, .duration = 100 * kMillisecond, .rate = rate}, false).frame,
      8u);
  EXPECT_FALSE(finder.lost());
  finder.seek();
  EXPECT_EQ(finder.next({.time = 100 * kMillisecond}, false).frame, 9u);
  EXPECT_TRUE(finder.lost());
}

TEST(FrameFinder, EndsWithTheStream) {
  const Timeline times({0, 100 * kMillisecond}, 100 * kMillisecond);
  FrameFinder finder(2, times, SyncMode::kTimestamp, 0);
  EXPECT_EQ(finder.next({.time = -50 * kMillisecond}, false).where, FrameFinder::Where::kOutside);
  EXPECT_EQ(finder.next({.time = 500 * kMillisecond}, false).where, FrameFinder::Where::kEnd);
  EXPECT_EQ(finder.next({.time = 500 * kMillisecond, .backward = true}, false).where,
            FrameFinder::Where::kOutside);
  EXPECT_EQ(finder.next({.time = -50 * kMillisecond, .backward = true}, false).where,
            FrameFinder::Where::kEnd);
}

TEST(FrameFinder, AlignsOnlyTheFirstFrameWithoutAnOffset) {
  using Where = FrameFinder::Where;
  const Timeline times({0, 100 * kMillisecond}, 100 * kMillisecond);
  const Moment far{.time = 900 * kMillisecond};
  FrameFinder moves(2, times, SyncMode::kAuto, 0);
  EXPECT_EQ(moves.next(far, false).where, Where::kFrame);
  EXPECT_EQ(moves.moved(), 900 * kMillisecond);
  FrameFinder begun(2, times, SyncMode::kAuto, 0);
  EXPECT_EQ(begun.next({.time = 0}, false).frame, 0u);
  EXPECT_EQ(begun.next(far, false).where, Where::kEnd);
  EXPECT_FALSE(begun.moved());
  FrameFinder offset(2, times, SyncMode::kAuto, 50 * kMillisecond);
  EXPECT_EQ(offset.next(far, false).where, Where::kEnd);
  EXPECT_FALSE(offset.moved());
  FrameFinder backward(2, times, SyncMode::kAuto, 0);
  EXPECT_EQ(backward.next({.time = 900 * kMillisecond, .backward = true}, false).where,
            Where::kOutside);
  EXPECT_FALSE(backward.moved());
}

TEST(FrameFinder, CountsOnFromTheTimeOfASeek) {
  const Timeline times({0, 100 * kMillisecond, 200 * kMillisecond}, 100 * kMillisecond);
  FrameFinder finder(3, times, SyncMode::kCount, 50 * kMillisecond);
  EXPECT_EQ(finder.next({.time = 250 * kMillisecond}, false).frame, 0u);
  finder.seek();
  EXPECT_EQ(finder.next({.time = 160 * kMillisecond}, false).frame, 1u) << "the offset counts";
  EXPECT_EQ(finder.next({.time = 160 * kMillisecond}, false).frame, 2u);
  finder.seek();
  EXPECT_EQ(finder.next({.segment = 50 * kMillisecond}, false).frame, 0u)
      << "the target of the seek";
}

TEST(StreamTime, IsThatOfTheSegment) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = 1000, segment.time = 300;
  EXPECT_EQ(stream_time_of(segment, 1500), 800);
  EXPECT_EQ(stream_time_of(segment, 600), -100);
  EXPECT_FALSE(stream_time_of(segment, GST_CLOCK_TIME_NONE));
  EXPECT_EQ(stream_time_of(segment, Timeline::kLatest + 700), Timeline::kLatest);
  EXPECT_FALSE(stream_time_of(segment, Timeline::kLatest + 701)) << "out of range";
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  EXPECT_FALSE(stream_time_of(segment, 1500));
}

TEST(StreamTime, HasKnownDurations) {
  EXPECT_EQ(known_duration(40), 40);
  EXPECT_EQ(known_duration(Timeline::kLongest), Timeline::kLongest);
  EXPECT_EQ(known_duration(Timeline::kLongest + 1), 0);
  EXPECT_EQ(known_duration(GST_CLOCK_TIME_NONE), 0);
}

}  // namespace
}  // namespace keepbox
