// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay draws lines and zones with their counts.
#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "gst/metas/counts.h"
#include "gst/overlay/counts.h"
#include "tests/gst/overlay/boxoverlay.h"

namespace keepbox {
namespace {

using test::BoxOverlay;
using test::kBackground;

/// Frames of 320x240 with counts.
class OverlayCounts : public BoxOverlay {
 protected:
  OverlayCounts() { format("RGB", 320, 240); }

  static LineCount line(Corner from = {60, 120}, Corner to = {260, 120}) {
    return {.name = "gate", .points = {from, to}, .crossed = {3, 1}};
  }
  static ZoneCount zone() {
    return {.name = "queue", .corners = {{100, 80}, {220, 80}, {220, 200}, {100, 200}}};
  }
  GstBuffer* counted(FrameCounts counts) const {
    GstBuffer* buffer = frame();
    attach_counts(buffer, std::move(counts));
    return buffer;
  }
  std::vector<guint8> drawn_counts(FrameCounts counts) { return drawn(counted(std::move(counts))); }
  std::vector<guint8> drawn_line(const LineCount& one) {
    return drawn_counts({.lines = {one}, .zones = {}, .notes = {}});
  }
  std::vector<guint8> drawn_zone(const ZoneCount& one) {
    return drawn_counts({.lines = {}, .zones = {one}, .notes = {}});
  }
  /// Returns the rows in which two pictures differ.
  std::vector<int> different_rows(const std::vector<guint8>& a,
                                  const std::vector<guint8>& b) const {
    std::vector<int> out;
    for (int y = 0; y < 240; ++y) {
      const auto row = y * info_.stride[0];
      if (!std::equal(a.begin() + row, a.begin() + row + 960, b.begin() + row)) out.push_back(y);
    }
    return out;
  }
  guint8 red(const std::vector<guint8>& pixels, int x, int y) const {
    return pixels[static_cast<size_t>(y * info_.stride[0] + x * 3)];
  }
  size_t changed(const std::vector<guint8>& pixels) const {
    return pixels.size() - static_cast<size_t>(std::ranges::count(pixels, kBackground));
  }
};

TEST_F(OverlayCounts, AreDrawnUnlessTheyAreNotWanted) {
  const FrameCounts counts{.lines = {line()}, .zones = {zone()}, .notes = {}};
  EXPECT_NE(drawn_counts(counts), blank()) << "on a frame without boxes";
  set("draw-counts", FALSE);
  EXPECT_EQ(drawn_counts(counts), blank());
}

TEST_F(OverlayCounts, EachNumberIsWhereItsDirectionLeads) {
  LineCount more = line();
  more.crossed = {4, 1};
  auto rows = different_rows(drawn_line(line()), drawn_line(more));
  ASSERT_FALSE(rows.empty());
  EXPECT_LT(rows.back(), 110) << "to the left of a line to the right is up";
  more.crossed = {3, 2};
  rows = different_rows(drawn_line(line()), drawn_line(more));
  ASSERT_FALSE(rows.empty());
  EXPECT_GT(rows.front(), 130);
  more = line();
  more.directions = {"enter", "out"};
  rows = different_rows(drawn_line(line()), drawn_line(more));
  ASSERT_FALSE(rows.empty());
  EXPECT_LT(rows.back(), 110);
  more = line();
  more.uncertain = {0, 1};
  rows = different_rows(drawn_line(line()), drawn_line(more));
  ASSERT_FALSE(rows.empty());
  EXPECT_GT(rows.front(), 130);
}

TEST_F(OverlayCounts, ZonesAreFilledLightlyWithTheirOccupancy) {
  const auto empty = drawn_zone(zone());
  const int tint = red(empty, 160, 170) - kBackground;
  EXPECT_NE(tint, 0);
  EXPECT_LT(std::abs(tint), 80);
  EXPECT_EQ(red(empty, 90, 170), kBackground);
  ZoneCount one = zone();
  one.present = {{.object = {0, 7}}};
  EXPECT_FALSE(different_rows(drawn_zone(one), empty).empty());
  one.present.clear();
  one.crowded = true;
  EXPECT_GT(std::abs(red(drawn_zone(one), 160, 170) - kBackground), std::abs(tint));
}

TEST_F(OverlayCounts, BoxesHaveTheirTimeInAZone) {
  const FrameBox box{.box = {110, 100, 200, 180}, .score = 0.5f, .tracking_id = 7};
  const auto with = [&](guint64 id, GstClockTime dwell) {
    GstBuffer* buffer = decoded({&box, 1});
    ZoneCount one = zone();
    one.present = {{.object = {0, id}, .dwell = dwell}};
    attach_counts(buffer, {.lines = {}, .zones = {one}, .notes = {}});
    return drawn(buffer);
  };
  const auto other = with(8, 12 * GST_SECOND), own = with(7, 12 * GST_SECOND);
  EXPECT_NE(own, other);
  EXPECT_NE(with(7, 13 * GST_SECOND), own);
  EXPECT_EQ(with(7, 12 * GST_SECOND + 1), own) << "whole seconds";
  set("draw-counts", FALSE);
  EXPECT_EQ(with(7, 12 * GST_SECOND), with(8, 12 * GST_SECOND));
}

TEST_F(OverlayCounts, TimesHaveUnits) {
  const FrameBox box{.box = {}, .tracking_id = 7};
  const auto text = [&](std::vector<guint64> seconds) {
    FrameCounts counts;
    for (const guint64 each : seconds) {
      counts.zones.push_back(zone());
      counts.zones.back().present = {{.object = {0, 7}, .dwell = each * GST_SECOND}};
    }
    return dwell_of(box, counts);
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({0}), "0 s");
  EXPECT_EQ(text({59, 7}), "59 s");
  EXPECT_EQ(text({7, 65}), "1:05 min");
  EXPECT_EQ(text({3600 + 120 + 5}), "1:02 h");
}

TEST_F(OverlayCounts, SizesFollowTheProperties) {
  const FrameCounts counts{.lines = {line()}, .zones = {zone()}, .notes = {}};
  const size_t plain = changed(drawn_counts(counts));
  set("thickness", 7u);
  const size_t thick = changed(drawn_counts(counts));
  EXPECT_GT(thick, plain + 1000);
  set("font-scale", 1.0);
  EXPECT_GT(changed(drawn_counts(counts)), thick + 1000);
}

TEST_F(OverlayCounts, LinesAndZonesAnywhereDoNoHarm) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float at : {-1e30f, -1e6f, -1.0f, 0.0f, 319.0f, 320.0f, 1e9f, 3e38f, kNan, kInf})
    for (const float size : {0.0f, 0.5f, 1000.0f, 1e30f}) {
      LineCount one = line({at, 100}, {at + size, 100 - size});
      ZoneCount area = zone();
      area.corners = {{at, at}, {at + size, 10}, {at - size, 230}, {at, size}, {5, at}};
      EXPECT_EQ(drawn_counts({.lines = {one}, .zones = {area}, .notes = {}}).size(), info_.size);
    }
  EXPECT_EQ(drawn_line(line({-500, -20}, {900, -20})), blank()) << "outside";
}

TEST_F(OverlayCounts, CaptionsStayInTheFrame) {
  std::minstd_rand random(5);
  const auto any = [&](double least, double most) {
    return std::uniform_real_distribution(least, most)(random);
  };
  for (int i = 0; i < 5000; ++i) {
    const double turn = any(0, 7);
    const TabPlace place{{any(-400, 700), any(-400, 700)}, {std::cos(turn), std::sin(turn)}};
    const cv::Size frame(int(any(1, 400)), int(any(1, 400))),
        tab(int(any(1, 300)), int(any(1, 90)));
    const cv::Rect at = tab_at(place, tab, frame);
    ASSERT_EQ(at & cv::Rect({0, 0}, frame), at);
    ASSERT_EQ(at.width, std::min(tab.width, frame.width));
  }
}

bool contains(std::span<const cv::Point2d> corners, cv::Point2d p) {
  bool inside = false;
  for (size_t i = 0; i < corners.size(); ++i) {
    const cv::Point2d a = corners[i], b = corners[(i + 1) % corners.size()];
    if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y))
      inside = !inside;
  }
  return inside;
}

/// Self-crossing polygons too.
TEST_F(OverlayCounts, ClippedZonesCoverTheSamePlaces) {
  std::minstd_rand random(6);
  std::uniform_real_distribution around(-100.0, 200.0), within(0.0, 100.0);
  for (int i = 0; i < 300; ++i) {
    std::vector<cv::Point2d> corners(3 + random() % 9);
    for (cv::Point2d& corner : corners) corner = {around(random), around(random)};
    const auto some = clipped(corners, {0, 0, 100, 100});
    for (int k = 0; k < 50; ++k) {
      const cv::Point2d p(within(random), within(random));
      ASSERT_EQ(contains(some, p), contains(corners, p));
    }
    for (const cv::Point2d p : some) {
      ASSERT_TRUE(p.x > -1e-6 && p.x < 100 + 1e-6);
      ASSERT_TRUE(p.y > -1e-6 && p.y < 100 + 1e-6);
    }
  }
}

}  // namespace
}  // namespace keepbox
