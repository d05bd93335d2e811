// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay after seeks and in reverse playback: recordings, raw files and a clip.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::expect_own;
using test::Line;
using test::record;
using test::replay;
using test::Seen;
using test::source;

constexpr auto kAccurate = GST_SEEK_FLAG_ACCURATE;

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

TEST(ReplaySeek, Seeks) {
  const test::TempDir dir;
  record(source(60), dir / "rec");
  Line filter(
      "videotestsrc num-buffers=-1 ! video/x-raw,format=GRAY8,width=16,height=16,"
      "framerate=30/1 ! " +
      replay(dir / "rec"));
  seek_about(filter, kAccurate, 1);
  Line key(
      "videotestsrc num-buffers=-1 ! video/x-raw,format=GRAY8,width=16,height=16,"
      "framerate=30/1 ! " +
      replay(dir / "rec"));
  seek_about(key, GST_SEEK_FLAG_KEY_UNIT, 2);
  Line alone("tensorreplay location=" + (dir / "rec") + " ! fakesink name=out");
  seek_about(alone, kAccurate, 3);
}

TEST(ReplaySeek, ReversePlayback) {
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
  for (const gint64 stop : {2, 10}) {
    alone.seek(-1, kAccurate, GST_SECOND, stop * gint64(GST_SECOND));
    EXPECT_EQ(alone.play(), "");
    expect_own(alone.seen(), 30);
    EXPECT_EQ(alone.seen().front().number, 59);
    EXPECT_EQ(alone.seen().back().number, 30);
  }
}

std::string write_raw(const test::TempDir& dir, int frames) {
  std::string bytes;
  for (int i = 0; i < frames; ++i) {
    const float row[] = {10, 10, 50, 50, 0.9f, float(i)};
    bytes.append(reinterpret_cast<const char*>(row), sizeof row);
  }
  return dir.write("t.raw", bytes) + " dims=1,1,6";
}

TEST(ReplaySeek, RawFilesSeekByTheFrameRate) {
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

TEST(ReplaySeek, RawFilesWithoutARateWarnAboutSeeks) {
  const test::TempDir dir;
  Line line(
      "videotestsrc ! video/x-raw,format=GRAY8,width=16,height=16,framerate=30/1 ! "
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

/// A clip of this project, with its demuxer and decoder.
TEST(ReplaySeek, SeeksInAClip) {
  const char* top = std::getenv("KEEPBOX_SOURCE");
  if (top == nullptr) GTEST_SKIP() << "KEEPBOX_SOURCE is not set";
  const test::TempDir dir;
  const std::string clip =
      std::string("filesrc location=") + top + "/pipelines/media/shapes.webm ! decodebin ! ";
  const std::vector<Seen> all = record(clip, dir / "rec");
  ASSERT_GT(all.size(), 30u);
  // Decoders shorten the frame that is the target of a seek; it is found nevertheless.
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
