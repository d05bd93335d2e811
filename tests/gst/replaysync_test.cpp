// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay gives each frame its own tensors: dropped, duplicated and sought, backward, at other
// rates and times.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tests/gst/numbered.h"

namespace keepbox {
namespace {

using test::drop;
using test::Line;
using test::record;
using test::retime;
using test::Seen;
using test::source;

constexpr auto kAccurate = GST_SEEK_FLAG_ACCURATE;

int frame_at(gint64 time, int rate = 30) {
  return static_cast<int>(std::lround(double(time) * rate / GST_SECOND));
}

std::string replay(const std::string& folder, const std::string& settings = "") {
  return "identity name=before ! tensorreplay location=" + folder + " " + settings +
         " ! fakesink name=out";
}

/// Each frame has the tensors of its time.
void expect_own(const std::vector<Seen>& seen, size_t count) {
  EXPECT_EQ(seen.size(), count);
  for (const Seen& each : seen) EXPECT_EQ(each.number, frame_at(each.time)) << "at " << each.time;
}

TEST(ReplaySync, FramesDroppedBeforeIt) {
  const test::TempDir dir;
  record(source(30), dir / "rec");
  Line line(source(30) + replay(dir / "rec"));
  line.probe("before", "sink", drop([](int n) { return n == 0 || n % 4 == 1; }));
  EXPECT_EQ(line.play(), "");
  expect_own(line.seen(), 21);
  EXPECT_TRUE(line.warnings().empty());
}

TEST(ReplaySync, DuplicatedFramesAndOtherRates) {
  const test::TempDir dir;
  record(source(30), dir / "rec");
  for (const int rate : {60, 10, 25, 120}) {
    SCOPED_TRACE(rate);
    Line line(source(30) + "videorate ! video/x-raw,framerate=" + std::to_string(rate) + "/1 ! " +
              replay(dir / "rec"));
    EXPECT_EQ(line.play(), "");
    const auto seen = line.seen();
    EXPECT_GE(seen.size(), size_t(rate) * 9 / 10);
    for (const Seen& each : seen)  // the one that stands, not the one that is nearest
      EXPECT_EQ(each.number, int(double(each.time) * 30 / GST_SECOND + 0.01)) << each.time;
  }
}

TEST(ReplaySync, RecordedAtALowerRate) {
  const test::TempDir dir;
  record(source(10, "10/1"), dir / "rec");
  Line line(source(30) + replay(dir / "rec"));
  EXPECT_EQ(line.play(), "");
  const auto seen = line.seen();
  ASSERT_EQ(seen.size(), 30u);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].number, int(i / 3));
}

TEST(ReplaySync, RoundedTimes) {
  const test::TempDir dir;
  record(source(60), dir / "rec");
  using Round = GstClockTime (*)(GstClockTime);
  const Round rounds[] = {[](GstClockTime t) { return t - (t > 0); },
                          [](GstClockTime t) { return t + 1; },
                          [](GstClockTime t) { return t / 1000000 * 1000000; },
                          [](GstClockTime t) { return (t + 500000) / 1000000 * 1000000; },
                          [](GstClockTime t) { return (t + 999999) / 1000000 * 1000000; }};
  for (const Round round : rounds) {
    Line line(source(60) + replay(dir / "rec"));
    line.probe("before", "sink", retime(round));
    EXPECT_EQ(line.play(), "");
    expect_own(line.seen(), 60);
  }
}

TEST(ReplaySync, RecordedWithRoundedTimes) {
  const test::TempDir dir;
  record(source(60), dir / "rec",
         retime([](GstClockTime t) { return (t + 500000) / 1000000 * 1000000; }));
  Line line(source(60) + replay(dir / "rec"));
  EXPECT_EQ(line.play(), "");
  expect_own(line.seen(), 60);
}

TEST(ReplaySync, ALiveRecordingBeginsAnywhere) {
  const test::TempDir dir;
  const auto later = [](GstClockTime t) { return t + 100 * GST_SECOND; };
  record(source(30), dir / "rec", retime(later));
  Line moved(source(30) + replay(dir / "rec"));
  EXPECT_EQ(moved.play(), "");
  expect_own(moved.seen(), 30);
  const auto warnings = moved.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("100.0"), std::string::npos) << warnings[0];
  Line exact(source(30) + replay(dir / "rec", "sync-mode=timestamp"));
  EXPECT_EQ(exact.play(), "");
  for (const Seen& each : exact.seen()) EXPECT_EQ(each.number, -1);
  EXPECT_EQ(exact.warnings().size(), 1u);
  Line offset(source(30) + replay(dir / "rec", "sync-mode=timestamp timestamp-offset=-100000000000"));
  EXPECT_EQ(offset.play(), "");
  expect_own(offset.seen(), 30);
}

TEST(ReplaySync, EndsWithTheRecording) {
  const test::TempDir dir;
  record(source(10), dir / "rec");
  Line line(source(30) + replay(dir / "rec"));
  EXPECT_EQ(line.play(), "");
  expect_own(line.seen(), 10);
}

TEST(ReplaySync, LoopsInStepWithTheFrames) {
  const test::TempDir dir;
  const auto milliseconds = [](GstClockTime t) { return t / 1000000 * 1000000; };
  record(source(10), dir / "rec", retime(milliseconds));
  Line line(source(2000) + replay(dir / "rec", "loop=true"));
  EXPECT_EQ(line.play(), "");
  const auto seen = line.seen();
  ASSERT_EQ(seen.size(), 2000u);
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i].number, int(i % 10)) << i;
}

TEST(ReplaySync, ByCountWhenToldOrWithoutTimes) {
  const test::TempDir dir;
  record(source(30), dir / "times");
  record(source(30), dir / "none", retime([](GstClockTime) { return GST_CLOCK_TIME_NONE; }));
  for (const std::string& settings : {dir / "times" + " sync-mode=count", dir / "none"}) {
    Line line(source(30) + replay(settings));
    line.probe("before", "sink", drop([](int n) { return n % 2 == 0; }));
    EXPECT_EQ(line.play(), "");
    const auto seen = line.seen();
    ASSERT_EQ(seen.size(), 15u);
    for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].number, int(i));
  }
  Line line(source(30) + replay(dir / "none", "sync-mode=timestamp"));
  EXPECT_NE(line.play().find("sync-mode=count"), std::string::npos);
}

TEST(ReplaySync, TimesThatRepeatAreCountedWithAWarning) {
  const test::TempDir dir;
  record(source(30), dir / "rec", retime([](GstClockTime t) { return t % (GST_SECOND / 2); }));
  Line line(source(30) + replay(dir / "rec"));
  EXPECT_EQ(line.play(), "");
  expect_own(line.seen(), 30);
  const auto warnings = line.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("line 16"), std::string::npos) << warnings[0];
}

void seek_about(Line& line, GstSeekFlags how, unsigned seed) {
  std::mt19937 random(seed);
  line.pause();
  for (int i = 0; i < 20; ++i) {
    const gint64 to = random() % (2 * GST_SECOND);
    line.seek(1, how, to);
    EXPECT_EQ(line.play(), "");
    expect_own(line.seen(), 60 - size_t(double(to) * 30 / GST_SECOND));
  }
}

TEST(ReplaySync, Seeks) {
  const test::TempDir dir;
  record(source(60), dir / "rec");
  Line filter("videotestsrc num-buffers=-1 ! video/x-raw,format=GRAY8,width=16,height=16,"
              "framerate=30/1 ! " + replay(dir / "rec"));
  seek_about(filter, kAccurate, 1);
  Line key("videotestsrc num-buffers=-1 ! video/x-raw,format=GRAY8,width=16,height=16,"
           "framerate=30/1 ! " + replay(dir / "rec"));
  seek_about(key, GST_SEEK_FLAG_KEY_UNIT, 2);
  Line alone("tensorreplay location=" + (dir / "rec") + " ! fakesink name=out");
  seek_about(alone, kAccurate, 3);
}

TEST(ReplaySync, ReversePlayback) {
  const test::TempDir dir;
  record(source(60), dir / "rec");
  const std::string endless =
      "videotestsrc ! video/x-raw,format=GRAY8,width=16,height=16,framerate=30/1 ! ";
  for (const char* settings : {"", "sync-mode=count"}) {
    Line line(endless + replay(dir / "rec", settings));
    line.pause();
    line.seek(-1, kAccurate, 0, GST_SECOND);
    EXPECT_EQ(line.play(), "");
    expect_own(line.seen(), line.seen().size());
    EXPECT_GE(line.seen().size(), 30u);
    EXPECT_EQ(line.seen().back().number, 0);
  }
  Line alone("tensorreplay location=" + (dir / "rec") + " ! fakesink name=out");
  alone.pause();
  alone.seek(-1, kAccurate, GST_SECOND, 2 * GST_SECOND);
  EXPECT_EQ(alone.play(), "");
  expect_own(alone.seen(), 30);
  EXPECT_EQ(alone.seen().front().number, 59);
  EXPECT_EQ(alone.seen().back().number, 30);
}

std::string write_raw(const test::TempDir& dir, int frames) {
  std::string bytes;
  for (int i = 0; i < frames; ++i) {
    const float row[] = {10, 10, 50, 50, 0.9f, float(i)};
    bytes.append(reinterpret_cast<const char*>(row), sizeof row);
  }
  return dir.write("t.raw", bytes) + " dims=1,1,6";
}

TEST(ReplaySync, RawFilesSeekByTheFrameRate) {
  const test::TempDir dir;
  const std::string raw = write_raw(dir, 60);
  Line line("videotestsrc ! video/x-raw,format=GRAY8,width=16,height=16,framerate=30/1 ! " +
            replay(raw));
  seek_about(line, kAccurate, 4);
  Line alone("tensorreplay location=" + raw + " ! fakesink name=out");
  seek_about(alone, kAccurate, 5);
  line.seek(-1, kAccurate, 0, GST_SECOND);
  EXPECT_EQ(line.play(), "");
  expect_own(line.seen(), line.seen().size());
  EXPECT_TRUE(line.warnings().empty());
}

TEST(ReplaySync, RawFilesSayThatTheyCannotSeekWithoutARate) {
  const test::TempDir dir;
  Line line("videotestsrc ! video/x-raw,format=GRAY8,width=16,height=16,framerate=30/1 ! "
            "capssetter replace=true caps=video/x-raw,format=GRAY8,width=16,height=16 ! " +
            replay(write_raw(dir, 30)));
  line.pause();
  line.seek(1, kAccurate, GST_SECOND / 2);
  EXPECT_EQ(line.play(), "");
  ASSERT_FALSE(line.seen().empty());
  EXPECT_GT(line.seen()[0].number, 0);
  const auto warnings = line.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("frame rate"), std::string::npos) << warnings[0];
}

TEST(ReplaySync, AloneItGivesBackTheTimes) {
  const test::TempDir dir;
  const auto uneven = [](GstClockTime t) { return 5 * GST_SECOND + t + t * t / GST_SECOND; };
  const auto want = record(source(20), dir / "rec", retime(uneven));
  const gint64 before = g_get_monotonic_time();
  Line line("tensorreplay location=" + (dir / "rec") + " ! fakesink sync=true name=out");
  EXPECT_EQ(line.play(), "");
  EXPECT_EQ(line.seen(), want);
  EXPECT_LT(g_get_monotonic_time() - before, 4 * G_USEC_PER_SEC) << "waited for the first frame";
}

TEST(ReplaySync, AloneItTakesTheRateOfTheCaps) {
  const test::TempDir dir;
  record(source(20), dir / "rec");
  Line line("tensorreplay location=" + (dir / "rec") +
            " ! video/x-raw,framerate=10/1 ! fakesink name=out");
  EXPECT_EQ(line.play(), "");
  const auto seen = line.seen();
  ASSERT_EQ(seen.size(), 20u);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], (Seen{gint64(i) * 100'000'000, int(i)}));
}

/// A clip of this project, by its own demuxer and decoder.
TEST(ReplaySync, SeeksInAClip) {
  const char* top = std::getenv("KEEPBOX_SOURCE");
  if (top == nullptr) GTEST_SKIP() << "KEEPBOX_SOURCE is not set";
  const test::TempDir dir;
  const std::string clip = std::string("filesrc location=") + top +
                           "/pipelines/media/shapes.webm ! decodebin ! ";
  const std::vector<Seen> all = record(clip, dir / "rec");
  ASSERT_GT(all.size(), 30u);
  // Decoders cut the frame that a seek goes into: also then it is that one.
  const auto number_at = [&](gint64 time) {
    const auto later = std::ranges::upper_bound(all, time, {}, &Seen::time);
    return later == all.begin() ? -1 : std::prev(later)->number;
  };
  Line line(clip + replay(dir / "rec"));
  line.pause();
  for (const auto how : {GST_SEEK_FLAG_ACCURATE, GST_SEEK_FLAG_KEY_UNIT})
    for (const double rate : {1.0, -1.0})
      for (size_t i = 1; i < 3; ++i) {
        const gint64 to = all[all.size() * i / 4].time - 300'000;
        line.seek(rate, how, rate > 0 ? to : 0, rate > 0 ? -1 : to);
        EXPECT_EQ(line.play(), "");
        const auto seen = line.seen();
        EXPECT_FALSE(seen.empty());
        for (const Seen& each : seen)
          EXPECT_EQ(each.number, number_at(each.time)) << each.time << " at rate " << rate;
      }
  EXPECT_TRUE(line.warnings().empty());
}

}  // namespace
}  // namespace keepbox
