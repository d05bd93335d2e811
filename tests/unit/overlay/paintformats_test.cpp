// SPDX-License-Identifier: LGPL-2.1-or-later
// Drawing in every format: exactly the expected pixels change, to the expected colour.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "tests/unit/overlay/covers.h"
#include "tests/unit/overlay/frame.h"

namespace keepbox {
namespace {

using namespace test;
using test::expect_red;
using test::outline;

class PaintFormats : public testing::TestWithParam<const char*> {
 protected:
  GstVideoFormat format() const { return gst_video_format_from_string(GetParam()); }
};

TEST_P(PaintFormats, OutlineAndNothingElse) {
  for (const auto& [width, height] : {std::pair{64u, 48u}, {33u, 21u}, {17u, 13u}})
    for (const int thickness : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height << " by " << thickness);
      Frame frame(format(), width, height);
      paint(frame, box(3.4f, 2.6f, 12.5f, 9.49f), {.thickness = thickness});
      expect_red(frame, outline(3, 3, 13, 9, thickness), red_of(frame));
    }
}

TEST_P(PaintFormats, ClippedAtTheBorderNotMoved) {
  Frame frame(format(), 33, 21);
  paint(frame, box(-4, 5, 12, 30), {.thickness = 2});
  expect_red(frame, outline(-4, 5, 12, 30, 2), red_of(frame));
  Frame other(format(), 33, 21);
  paint(other, box(20, -9, 90, 8), {.thickness = 3});
  expect_red(other, outline(20, -9, 90, 8, 3), red_of(other));
}

TEST_P(PaintFormats, DrawsOnTinyFrames) {
  for (const guint size : {1u, 2u, 8u}) {
    Frame frame(format(), size, size);
    paint(frame, box(0, 0, static_cast<float>(size), static_cast<float>(size)));
    expect_red(frame, outline(0, 0, static_cast<int>(size), static_cast<int>(size), 1),
               red_of(frame));
    for (const float angle : {0.0f, 0.5f})
      paint(frame, box(-3, -1, 2, 4, angle, "person 0.87"), {.thickness = 5, .font_scale = 1});
  }
}

TEST_P(PaintFormats, CaptionHasBothColours) {
  Frame frame(format(), 97, 65);
  paint(frame, box(10, 40, 60, 60, 0, "HH"), {.thickness = 1, .font_scale = 0.5});
  const auto red = red_of(frame);
  EXPECT_EQ(frame.at(0, 11, 39), red[0]) << "no gap between caption and box";
  EXPECT_EQ(frame.at(0, 9, 39), kBackground);
  int dark = 0, other = 0;
  for (int y = 25; y < 39; ++y)
    for (int x = 12; x < 30; ++x) (frame.at(0, x, y) < red[0] / 3 ? dark : other)++;
  EXPECT_GT(dark, 20);
  EXPECT_GT(other, 60);
}

TEST_P(PaintFormats, SlantedLinesStayNearTheBox) {
  Frame frame(format(), 65, 49);
  paint(frame, box(12, 23, 52, 25, std::numbers::pi_v<float> / 6), {.thickness = 2});
  const auto red = red_of(frame);
  // Clockwise: the right end moved down.
  for (const int along : {-15, 0, 15}) {
    const int x = 32 + static_cast<int>(std::lround(along * 0.866));
    const int y = 24 + static_cast<int>(std::lround(along * 0.5));
    EXPECT_NEAR(frame.at(0, x, y), red[0], 2);
  }
  const guint shift_x = GST_VIDEO_FORMAT_INFO_W_SUB(frame.frame.info.finfo, 1);
  const guint shift_y = GST_VIDEO_FORMAT_INFO_H_SUB(frame.frame.info.finfo, 1);
  if (GST_VIDEO_FRAME_N_COMPONENTS(&frame.frame) > 2) {
    EXPECT_NEAR(frame.at(2, 32 >> shift_x, 24 >> shift_y), red[2], 2) << "chroma is missing";
  }
  for (const auto& [x, y] : {std::pair{14, 24}, {50, 24}, {32, 32}, {32, 16}})
    EXPECT_EQ(frame.at(0, x, y), kBackground);
}

TEST_P(PaintFormats, ThinSlantedLinesKeepTheirColour) {
  Frame frame(format(), 65, 49);
  // A box of 40x20, rotated by 90 degrees: 20x40 about the same centre.
  paint(frame, box(12, 14, 52, 34, std::numbers::pi_v<float> / 2), {.thickness = 1});
  const auto red = red_of(frame);
  for (const auto& [x, y] : {std::pair{22, 24}, {41, 24}, {32, 4}, {32, 43}}) {
    EXPECT_NEAR(frame.at(0, x, y), red[0], 80) << x << "," << y;
    for (guint c = 1; c < std::min(GST_VIDEO_FRAME_N_COMPONENTS(&frame.frame), 3u); ++c) {
      const guint shift_x = GST_VIDEO_FORMAT_INFO_W_SUB(frame.frame.info.finfo, c);
      const guint shift_y = GST_VIDEO_FORMAT_INFO_H_SUB(frame.frame.info.finfo, c);
      if (shift_x + shift_y == 0) continue;
      EXPECT_NEAR(frame.at(c, x >> shift_x, y >> shift_y), red[c], 30) << x << "," << y;
    }
  }
  for (const auto& [x, y] : {std::pair{12, 24}, {51, 24}, {32, 14}, {32, 33}})
    EXPECT_EQ(frame.at(0, x, y), kBackground);
}

TEST_P(PaintFormats, AnglesAreClockwise) {
  Frame frame(format(), 65, 49);
  const float angle = 0.5f;
  paint(frame, box(12, 14, 52, 34, angle), {.thickness = 3});
  for (const auto& [dx, dy] : {std::pair{-18.5, -4.0}, {18.5, 4.0}, {-9.0, 8.5}, {9.0, -8.5}}) {
    const double x = 32 + dx * std::cos(angle) - dy * std::sin(angle);
    const double y = 24 + dx * std::sin(angle) + dy * std::cos(angle);
    EXPECT_NEAR(frame.at(0, static_cast<int>(x), static_cast<int>(y)), red_of(frame)[0], 2)
        << dx << "," << dy;
  }
}

/// Checks that bits below the values of P010 stay 0, so that no reader sees a larger value.
TEST_P(PaintFormats, UnusedBitsStayZero) {
  Frame frame(format(), 96, 64);
  const int unused = static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(frame.frame.info.finfo, 0));
  if (unused == 0) GTEST_SKIP() << "all bits are in use";
  const std::span words(reinterpret_cast<uint16_t*>(frame.frame.map[0].data),
                        frame.bytes().size() / 2);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint16_t>(static_cast<uint16_t>(i * 40503u) >> unused << unused);
  paint(frame, box(10, 30, 80, 60, 0.4f, "person 0.87"), {.thickness = 3});
  cv::Mat cover(cv::Size(48, 32), CV_8U, cv::Scalar(255));
  PaintScratch scratch;
  frame.canvas->average({16, 16, 48, 32}, cover, 5, true, scratch);
  frame.canvas->average({32, 32, 48, 32}, cover, 5, false, scratch);
  for (size_t i = 0; i < words.size(); ++i)
    ASSERT_EQ(words[i] & ((1 << unused) - 1), 0) << "value " << i;
}

TEST_P(PaintFormats, SurvivesAnyCoordinates) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::array values{-FLT_MAX, -1e9f, -1.0f, 5.0f, 1e9f, FLT_MAX, kInf, -kInf, kNan};
  Frame frame(format(), 33, 21);
  Painter painter;
  std::vector<Mark> marks;
  for (const float x1 : values)
    for (const float y1 : values)
      for (const float x2 : values)
        for (const float angle : {0.0f, 0.3f, 1e30f, kNan, kInf})
          marks.push_back(box(x1, y1, x2, 9, angle, "x"));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(painter.paint(*frame.canvas, marks, {.thickness = 3}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

INSTANTIATE_TEST_SUITE_P(Paint, PaintFormats, testing::ValuesIn(kPaintFormats),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace keepbox
