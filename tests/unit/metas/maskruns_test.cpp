// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks enlarged over their rectangles, compared with bilinear interpolation per pixel.
#include "gst/metas/masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "tests/masks.h"

namespace keepbox {
namespace {

using test::TestMask;
using Lines = MaskRuns::Lines;

/// Draws the frame as rows of text, with # inside the object.
std::vector<std::string> drawn(const FrameMask& mask, Size frame, Lines lines) {
  std::vector<std::string> out(frame.height, std::string(frame.width, '.'));
  const MaskView pixels(mask.pixels);
  MaskRuns runs(pixels, mask.place, frame, lines);
  for (int line = runs.lines().first; line < runs.lines().last; ++line) {
    int before = -1;
    for (const PixelRun& run : runs.of(line)) {
      EXPECT_GT(run.first, before) << "not apart";
      EXPECT_GT(run.last, run.first);
      EXPECT_GE(run.first, runs.reach().first);
      EXPECT_LE(run.last, runs.reach().last);
      before = run.last;
      for (int i = run.first; i < run.last; ++i)
        (lines == Lines::kRows ? out.at(size_t(line)).at(size_t(i))
                               : out.at(size_t(i)).at(size_t(line))) = '#';
    }
  }
  return out;
}

/// Returns the mask at a point of the frame, from 0 to 1; nothing outside of its rectangle.
std::optional<double> level(const MaskView& mask, const Box& place, double x, double y) {
  if (x < place.x1 || x >= place.x2 || y < place.y1 || y >= place.y2) return {};
  const auto along = [](double at, double low, double high, int count) {
    return std::clamp((at - low) / (high - low) * count - 0.5, 0.0, count - 1.0);
  };
  const int width = static_cast<int>(mask.width()), height = static_cast<int>(mask.height());
  const double u = along(x, place.x1, place.x2, width);
  const double v = along(y, place.y1, place.y2, height);
  double sum = 0;
  for (int j = 0; j < height; ++j)
    for (int i = 0; i < width; ++i)
      if (mask.row(guint(j))[i] != 0)
        sum += std::max(0.0, 1 - std::abs(u - i)) * std::max(0.0, 1 - std::abs(v - j));
  return sum;
}

TEST(MaskRuns, OfItsOwnSizeIsUnchanged) {
  const std::vector<std::string_view> rows{"#..#.", ".....", "##.##", "#####"};
  const TestMask mask(rows);
  for (const Lines lines : {Lines::kRows, Lines::kColumns})
    EXPECT_EQ(drawn(mask, {5, 4}, lines),
              (std::vector<std::string>{"#..#.", ".....", "##.##", "#####"}));
}

TEST(MaskRuns, EndsHalfwayBetweenCentres) {
  const TestMask mask({"..", "##"}), dot({"...", ".#.", "..."});
  EXPECT_EQ(drawn(mask.over({1, 0, 5, 8}), {6, 8}, Lines::kRows),
            (std::vector<std::string>{"......", "......", "......", "......", ".####.", ".####.",
                                      ".####.", ".####."}));
  EXPECT_EQ(
      drawn(dot.over({0, 0, 12, 12}), {12, 12}, Lines::kRows),
      (std::vector<std::string>{"............", "............", "............", "............",
                                ".....##.....", "....####....", "....####....", ".....##.....",
                                "............", "............", "............", "............"}));
}

TEST(MaskRuns, AreThoseOfBilinearInterpolation) {
  std::mt19937 random(7);
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  size_t pixels = 0, covered = 0;
  for (int round = 0; round < 200; ++round) {
    const auto side = [&] { return std::uniform_int_distribution<guint>(1, 9)(random); };
    const float share = number(0, 1);
    const TestMask mask(side(), side(), [&](guint, guint) { return number(0, 1) < share; });
    const Box place{number(-10, 20), number(-10, 20), number(20, 50), number(20, 50)};
    const Size frame{40, 30};
    const auto rows = drawn(mask.over(place), frame, Lines::kRows);
    const auto columns = drawn(mask.over(place), frame, Lines::kColumns);
    const MaskView map(mask.buffer());
    for (uint32_t y = 0; y < frame.height; ++y)
      for (uint32_t x = 0; x < frame.width; ++x) {
        const auto expected = level(map, place, x + 0.5, y + 0.5);
        // Rounding decides on the edge itself.
        if (expected && std::abs(*expected - 0.5) < 1e-9) continue;
        const char pixel = expected && *expected > 0.5 ? '#' : '.';
        ASSERT_EQ(rows[y][x], pixel) << "round " << round << " at " << x << "," << y;
        ASSERT_EQ(columns[y][x], pixel) << "round " << round << " at " << x << "," << y;
        ++pixels;
        covered += pixel == '#';
      }
  }
  EXPECT_GT(covered, pixels / 10);
}

/// Draws the frame pixel by pixel, as a GPU does.
std::vector<std::string> drawn_pixel_by_pixel(const FrameMask& mask, Size frame) {
  const MaskView map(mask.pixels);
  const auto [x1, y1, x2, y2] = mask.place;
  const MaskSide across = mask_side(x1, x2, static_cast<int>(map.width()), frame.width);
  const MaskSide down = mask_side(y1, y2, static_cast<int>(map.height()), frame.height);
  std::vector<std::string> out(frame.height, std::string(frame.width, '.'));
  for (int y = down.first; y < down.last; ++y) {
    const MaskLines lines = lines_at(down, y);
    const int below = std::min(lines.above + 1, down.count - 1);
    const guint8 *first = map.row(guint(lines.above)), *second = map.row(guint(below));
    const auto both = [&](int i) { return 2 * (first[i] != 0) + (second[i] != 0); };
    for (int x = across.first; x < across.last; ++x)
      if (is_inside(across, lines, x, pixel_before(across, x), both))
        out[size_t(y)][size_t(x)] = '#';
  }
  return out;
}

TEST(MaskRuns, AreThePixelsThatAreInsideOnTheirOwn) {
  std::mt19937 random(11);
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  const Size frame{40, 30};
  for (int round = 0; round < 600; ++round) {
    const auto side = [&] { return std::uniform_int_distribution<guint>(1, 90)(random); };
    const float share = number(0, 1), reach = round % 3 == 0 ? 1e6f : 50;
    const TestMask mask(side(), side(), [&](guint, guint) { return number(0, 1) < share; });
    // Integers put the centres of pixels on edges.
    const auto edge = [&](float v) { return round % 2 == 0 ? std::round(v) : v; };
    const Box place{edge(number(-reach, 20)), edge(number(-reach, 15)), edge(number(20, reach)),
                    edge(number(15, reach))};
    ASSERT_EQ(drawn_pixel_by_pixel(mask.over(place), frame),
              drawn(mask.over(place), frame, Lines::kRows))
        << "round " << round;
  }
}

TEST(MaskRuns, HaveNoLinesOutsideTheFrame) {
  const TestMask mask({"##", "##"});
  for (const Box& place : {Box{50, 4, 60, 20}, Box{-20, 4, -3, 20}, Box{4, 40, 20, 60}})
    for (const Lines lines : {Lines::kRows, Lines::kColumns}) {
      const FrameMask over = mask.over(place);
      const MaskView pixels(over.pixels);
      MaskRuns runs(pixels, over.place, {40, 30}, lines);
      EXPECT_GE(runs.lines().first, runs.lines().last) << place.x1;
    }
}

TEST(MaskRuns, ShrinkToSamples) {
  const TestMask mask(40, 40, [](guint x, guint) { return x % 2 == 0; });
  for (const Lines lines : {Lines::kRows, Lines::kColumns})
    for (const std::string& row : drawn(mask.over({0, 0, 7, 7}), {7, 7}, lines))
      EXPECT_EQ(row.size(), 7u);
}

TEST(MaskRuns, RectanglesWithoutAreaOrFarAwayCoverNothing) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const TestMask mask({"##", "##"});
  const auto covered = [&](const Box& place) {
    int count = 0;
    for (const Lines lines : {Lines::kRows, Lines::kColumns})
      for (const std::string& row : drawn(mask.over(place), {8, 6}, lines))
        count += static_cast<int>(std::ranges::count(row, '#'));
    return count;
  };
  for (const Box& place : {Box{3, 3, 3, 5},
                           {3, 3, 5, 3},
                           {5, 5, 3, 3},
                           {-9, 0, 0, 6},
                           {8, 0, 20, 6},
                           {1e30f, 0, 2e30f, 6},
                           {kNan, 0, 4, 4},
                           {0, kNan, 4, 4},
                           {-kInf, 0, 4, 4},
                           {0, 0, kInf, 4},
                           {-kInf, -kInf, kInf, kInf}})
    EXPECT_EQ(covered(place), 0) << place.x1 << "," << place.y1 << "," << place.x2;
  EXPECT_EQ(covered({-3e38f, -3e38f, 3e38f, 3e38f}), 2 * 48);
  EXPECT_EQ(covered({-1e9f, -1e9f, 1e9f, 1e9f}), 2 * 48);
}

TEST(MaskRuns, NeedGray8) {
  const TestMask mask({"#"});
  EXPECT_TRUE(is_mask(MaskView(mask.buffer())));
  EXPECT_FALSE(is_mask(MaskView(nullptr)));
  g_autoptr(GstBuffer) plain = gst_buffer_new_allocate(nullptr, 16, nullptr);
  EXPECT_FALSE(is_mask(MaskView(plain)));
  g_autoptr(GstBuffer) other = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_add_video_meta(other, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY16_LE, 2, 2);
  EXPECT_FALSE(is_mask(MaskView(other)));
  g_autoptr(GstBuffer) small = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_add_video_meta(small, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 8, 8);
  EXPECT_FALSE(is_mask(MaskView(small))) << "rows beyond the memory";
}

}  // namespace
}  // namespace keepbox
