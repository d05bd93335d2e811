// SPDX-License-Identifier: LGPL-2.1-or-later
// Borders, captions, colours and pens.
#include "gst/overlay/paint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "tests/fonts.h"
#include "tests/unit/overlay/covers.h"
#include "tests/unit/overlay/frame.h"

namespace keepbox {
namespace {

using test::expect_red;
using test::outline;

using namespace test;

TEST(Paint, FormatsAreThoseTested) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(GST_VIDEO_CAPS_MAKE(KEEPBOX_PAINT_FORMATS));
  const GValue* list = gst_structure_get_value(gst_caps_get_structure(caps, 0), "format");
  ASSERT_TRUE(GST_VALUE_HOLDS_LIST(list));
  EXPECT_EQ(gst_value_list_get_size(list), std::size(test::kPaintFormats));
}

TEST(Paint, ColoursFollowTheColorimetry) {
  const struct {
    const char* colorimetry;
    std::array<int, 3> red;
  } cases[] = {{"bt601", {81, 90, 240}},
               {"bt709", {63, 102, 240}},
               {"bt2020", {74, 97, 240}},
               {"1:4:0:0", {76, 85, 255}}};
  for (const auto& [colorimetry, red] : cases)
    for (const GstVideoFormat format : {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_Y444}) {
      SCOPED_TRACE(colorimetry);
      Frame frame(format, 32, 32, colorimetry);
      paint(frame, box(4, 4, 20, 20));
      expect_red(frame, outline(4, 4, 20, 20, 1), red);
    }
}

TEST(Paint, FarEdgesAreNotDrawn) {
  Frame frame(GST_VIDEO_FORMAT_GRAY8, 64, 48);
  paint(frame, box(-1e9f, -1e9f, 1e9f, 1e9f));
  paint(frame, box(-1e9f, -1e9f, 1e9f, 1e9f, 0.3f), {.thickness = 3});
  paint(frame, box(100, 10, 120, 20, 0, "outside"));
  paint(frame, box(10, -20, 30, 0, 0, "just outside"));
  paint(frame, box(100, 10, 120, 20, 0.4f, "outside"));
  EXPECT_TRUE(frame.untouched());
  paint(frame, box(-9e9f, -9e9f, 9e9f, 9e9f));
  EXPECT_TRUE(frame.untouched());
  paint(frame, box(-9e9f, -9e9f, 20, 9e9f));
  expect_red(frame, [](int x, int) { return x == 19; }, red_of(frame));
}

TEST(Paint, AnyTwoCornersAndEmptyBoxes) {
  Frame frame(GST_VIDEO_FORMAT_RGB, 32, 32);
  paint(frame, box(20, 18, 5, 6));
  expect_red(frame, outline(5, 6, 20, 18, 1), {255, 0, 0});
  Frame other(GST_VIDEO_FORMAT_RGB, 32, 32);
  paint(other, box(9, 9, 9, 9));
  expect_red(other, outline(9, 9, 10, 10, 1), {255, 0, 0});
}

TEST(Paint, CaptionStaysInTheFrame) {
  const struct {
    Mark mark;
    int x, y;                                                    // a corner of its caption
  } cases[] = {{box(-30, 20, 10, 40, 0, "W"), 0, 19},            // at the left border
               {box(150, 20, 170, 40, 0, "WWW 0.87"), 159, 19},  // at the right border
               {box(50, 3, 90, 60, 0, "W"), 50, 3},              // no space above: inside
               {box(50, -50, 90, 60, 0, "W"), 50, 0}};           // begins above the frame
  for (const auto& [mark, x, y] : cases) {
    Frame frame(GST_VIDEO_FORMAT_RGB, 160, 120);
    paint(frame, mark);
    EXPECT_EQ(frame.at(0, x, y), 255) << mark.box.x1 << "," << mark.box.y1;
    EXPECT_EQ(frame.at(1, x, y), 0);
    if (mark.box.y1 == 3) {
      EXPECT_EQ(frame.at(0, x, y - 1), kBackground);
    }
  }
}

TEST(Paint, CaptionsDoNotCoverEachOther) {
  const std::array colors{kRed, Rgb{0, 255, 0}, Rgb{0, 0, 255}};
  const auto draw = [&](Frame& frame, std::span<const Mark> marks, LabelPlacement placement) {
    const Pen pen{.thickness = 1, .font_scale = 0.5, .placement = placement};
    ASSERT_TRUE(Painter().paint(*frame.canvas, marks, pen));
  };
  /// Counts pixels of a colour, without those of letters.
  const auto count = [](const Frame& frame, Rgb color) {
    int pixels = 0;
    for (int y = 0; y < 120; ++y)
      for (int x = 0; x < 200; ++x)
        pixels += Rgb{frame.at(0, x, y), frame.at(1, x, y), frame.at(2, x, y)} == color;
    return pixels;
  };
  std::vector<Mark> marks;
  for (const Rgb color : colors) {
    const auto shift = 4.0f * static_cast<float>(marks.size());
    marks.push_back(box(40 + shift, 40 + shift, 120 + shift, 90 + shift, 0, "one 0.87"));
    marks.back().color = color;
  }
  Frame apart(GST_VIDEO_FORMAT_RGB, 200, 120), above(GST_VIDEO_FORMAT_RGB, 200, 120);
  draw(apart, marks, LabelPlacement::kApart);
  draw(above, marks, LabelPlacement::kAbove);
  for (const Mark& mark : marks) {
    Frame alone(GST_VIDEO_FORMAT_RGB, 200, 120);
    draw(alone, {&mark, 1}, LabelPlacement::kApart);
    const int whole = count(alone, mark.color);
    // Outlines cross and are covered here and there; a caption has some hundred pixels.
    EXPECT_GT(count(apart, mark.color), whole - 300);
    if (&mark != marks.data()) {
      EXPECT_LT(count(above, mark.color), whole - 300);
    }
  }
}

TEST(Paint, CountsDroppedCaptions) {
  Frame frame(GST_VIDEO_FORMAT_RGB, 160, 120);
  Painter painter;
  const std::vector<Mark> marks(50, box(60, 40, 70, 50, 0, "WWWWW"));
  ASSERT_TRUE(painter.paint(*frame.canvas, marks, {}));
  EXPECT_GT(painter.left_out(), 30u);
  EXPECT_LT(painter.left_out(), 50u);
  ASSERT_TRUE(painter.paint(*frame.canvas, {marks.data(), 1}, {}));
  EXPECT_EQ(painter.left_out(), 0u);
}

TEST(Paint, FirstIsOnTop) {
  Frame frame(GST_VIDEO_FORMAT_RGB, 32, 32);
  std::array marks{box(4, 4, 20, 20), box(4, 4, 20, 20)};
  marks[1].color = {0, 0, 255};
  ASSERT_TRUE(Painter().paint(*frame.canvas, marks, {}));
  expect_red(frame, outline(4, 4, 20, 20, 1), {255, 0, 0});
}

TEST(Paint, PainterKeepsNoState) {
  Painter used;
  Frame large(GST_VIDEO_FORMAT_NV12, 640, 480), small(GST_VIDEO_FORMAT_NV12, 65, 49),
      fresh(GST_VIDEO_FORMAT_NV12, 65, 49);
  const auto first = box(10, 100, 600, 400, 0.7f, "a long caption for a large frame");
  const auto second = box(10, 20, 50, 40, 0.3f, "i");
  ASSERT_TRUE(used.paint(*large.canvas, {&first, 1}, {.thickness = 9, .font_scale = 2}));
  ASSERT_TRUE(used.paint(*small.canvas, {&second, 1}, {}));
  paint(fresh, second);
  EXPECT_TRUE(std::ranges::equal(small.bytes(), fresh.bytes()));
}

TEST(Paint, AcceptsAnyThicknessScaleAndText) {
  const Mark marks[] = {box(10, 10, 50, 40, 0, "\n\t\x7f\xff"), box(10, 10, 50, 40, 0.5f, "pen")};
  for (const double scale : {1e-9, 0.01, 32.0})
    for (const int thickness : {1, 256}) {
      Frame frame(GST_VIDEO_FORMAT_I420, 63, 47);
      EXPECT_TRUE(Painter().paint(*frame.canvas, marks, {thickness, scale}));
    }
}

TEST(Paint, TextsOfACaptionStandNextToEachOther) {
  /// Returns the first column, from one on, that has a tab's or a letter's pixel.
  const auto widths = [](std::vector<std::string> caption) {
    Frame frame(GST_VIDEO_FORMAT_RGB, 300, 60);
    Mark mark = box(0, 30, 20, 50);
    mark.caption = std::move(caption);
    paint(frame, mark);
    int width = 0;
    while (width < 300 && frame.at(0, width, 29) != kBackground) ++width;
    return width;
  };
  const int padded = widths({"a"}), twice = widths({"a", "a"});
  EXPECT_GT(twice, padded + 8);
  EXPECT_EQ(widths({"a", "a", "a"}), 2 * twice - padded);
  EXPECT_NEAR(widths({"a b"}), widths({"a", "b"}), 1);
}

TEST(Paint, TabsAreHigherForHighLetters) {
  const auto rows = [](const char* text) {
    Frame frame(GST_VIDEO_FORMAT_RGB, 200, 120);
    paint(frame, box(0, 80, 150, 110, 0, text));
    int height = 0;
    while (frame.at(0, 0, 79 - height) != kBackground) ++height;
    return height;
  };
  EXPECT_EQ(rows("a"), rows("Hg"));
  EXPECT_EQ(rows("a"), rows("ßdйg"));
  EXPECT_GT(rows("\u1ebe\u0323"), rows("a")) << "with marks above and below";
}

TEST(Paint, LeavesCaptionsOutWithoutAFont) {
  const Mark labelled = box(10, 30, 50, 50, 0, "label");
  Frame frame(GST_VIDEO_FORMAT_NV12, 64, 64), plain(GST_VIDEO_FORMAT_NV12, 64, 64);
  paint(plain, box(10, 30, 50, 50));
  const OnlyFonts none({});
  Painter painter;
  for (const Mark& mark : {labelled, box(10, 30, 50, 50), labelled}) {
    const Status status = painter.paint(*frame.canvas, {&mark, 1}, {});
    ASSERT_FALSE(status) << "on every frame, so that it is one warning";
    EXPECT_EQ(status.error().kind, ErrorKind::kNoResource);
  }
  EXPECT_TRUE(std::ranges::equal(frame.bytes(), plain.bytes()));
  EXPECT_EQ(painter.left_out(), 0u);
}

TEST(Pen, GrowsWithTheFrame) {
  EXPECT_EQ(pen_for({160, 120}).thickness, 1);
  EXPECT_EQ(pen_for({640, 480}).thickness, 2);
  EXPECT_EQ(pen_for({1920, 1080}).thickness, 4);
  EXPECT_EQ(pen_for({2160, 3840}).thickness, 7);
  EXPECT_GE(pen_for({1, 1}).thickness, 1);
  EXPECT_LT(pen_for({160, 120}).font_scale, pen_for({640, 480}).font_scale);
  EXPECT_LT(pen_for({1920, 1080}).font_scale, pen_for({3840, 2160}).font_scale);
}

}  // namespace
}  // namespace keepbox
