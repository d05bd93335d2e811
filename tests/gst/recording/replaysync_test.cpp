// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay attaches each frame's own tensors, even if frames are dropped, repeated or retimed.
#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::drop;
using test::expect_own;
using test::Line;
using test::record;
using test::replay;
using test::retime;
using test::Seen;
using test::source;

TEST(ReplaySync, SkipsFramesThatWereDroppedUpstream) {
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
    for (const Seen& each : seen)  // the last one that began, not the nearest one
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

TEST(ReplaySync, MatchesFramesWithRoundedTimes) {
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

TEST(ReplaySync, LiveRecordingMayBeginAnywhere) {
  const test::TempDir dir;
  const auto later = [](GstClockTime t) { return t + 100 * GST_SECOND; };
  record(source(30), dir / "rec", retime(later));
  Line moved(source(30) + replay(dir / "rec"));
  EXPECT_EQ(moved.play(), "");
  expect_own(moved.seen(), 30);
  const auto warnings = moved.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(" 100 s before "), std::string::npos) << warnings[0];
  Line exact(source(30) + replay(dir / "rec", "sync-mode=timestamp"));
  EXPECT_EQ(exact.play(), "");
  for (const Seen& each : exact.seen()) EXPECT_EQ(each.number, -1);
  EXPECT_EQ(exact.warnings().size(), 1u);
  Line offset(source(30) +
              replay(dir / "rec", "sync-mode=timestamp timestamp-offset=-100000000000"));
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

TEST(ReplaySync, ByCountOnRequestOrWithoutTimes) {
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

TEST(ReplaySync, WithoutInputItReproducesTheTimes) {
  for (const guint64 begin : {guint64{0}, guint64{5 * GST_SECOND}}) {
    const test::TempDir dir;
    const auto uneven = [begin](GstClockTime t) { return begin + t + t * t / GST_SECOND; };
    const auto want = record(source(20), dir / "rec", retime(uneven));
    const gint64 before = g_get_monotonic_time();
    Line line("tensorreplay location=" + (dir / "rec") + " ! fakesink sync=true name=out");
    EXPECT_EQ(line.play(), "");
    EXPECT_EQ(line.seen(), want);
    EXPECT_LT(g_get_monotonic_time() - before, 4 * G_USEC_PER_SEC) << "waited for the first frame";
  }
}

TEST(ReplaySync, WarnsAgainAfterTheNextStart) {
  const test::TempDir dir;
  record(source(10), dir / "rec", retime([](GstClockTime t) { return t + 100 * GST_SECOND; }));
  Line line(source(10) + replay(dir / "rec"));
  for (size_t start = 1; start < 3; ++start) {
    EXPECT_EQ(line.play(), "");
    EXPECT_EQ(line.warnings().size(), start);
    gst_element_set_state(line.pipeline(), GST_STATE_READY);
  }
}

TEST(ReplaySync, WithoutInputItFollowsTheRateOfTheCaps) {
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

}  // namespace
}  // namespace keepbox
