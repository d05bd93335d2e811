// SPDX-License-Identifier: LGPL-2.1-or-later
// Run lengths as text: as written by pycocotools, and read back by an independent reader.
#include "gst/sink/json.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/masks.h"

namespace keepbox {
namespace {

using test::TestMask;

/// Returns the lengths in a text: groups of six bits from '0', whose highest bit marks a
/// continuation, and the next bit of the last group the sign.
std::vector<int64_t> lengths_in(const std::string& text) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < text.size();) {
    uint64_t bits = 0;
    int shift = 0, group = 0;
    do {
      group = text[at++] - '0';
      EXPECT_TRUE(group >= 0 && group < 64) << text;
      bits += uint64_t(group % 32) << shift;
      shift += 5;
    } while (group >= 32 && at < text.size());
    int64_t number = int64_t(bits);
    if (group % 32 >= 16) number -= int64_t{1} << shift;
    if (out.size() > 2) number += out[out.size() - 2];
    out.push_back(number);
  }
  return out;
}

/// Draws pixels column by column.
std::string pixels_in(const std::string& text) {
  std::string out;
  bool on = false;
  for (const int64_t length : lengths_in(text)) {
    EXPECT_GE(length, 0);
    out.append(size_t(length), on ? '#' : '.');
    on = !on;
  }
  return out;
}

std::string text_of(const FrameMask& mask) { return rle_of(MaskView(mask.pixels)); }

TEST(Rle, MatchesPycocotools) {
  EXPECT_EQ(text_of(TestMask({".#.", "##."})), "132");
  EXPECT_EQ(text_of(TestMask({"..", ".."})), "4");
  EXPECT_EQ(text_of(TestMask({"##", "##"})), "04");
  EXPECT_EQ(text_of(TestMask({"#"})), "01");
  const TestMask large(640, 480, [](guint x, guint y) {
    return (x >= 50 && x < 53 && y >= 100 && y < 300) || (x == 200 && y == 7) || x == 639 ||
           ((x == 300 || x == 301) && y >= 470) || (x == 301 && y < 5);
  });
  EXPECT_EQ(text_of(large), "Tag0X6h8000SjT2iIcWZO>STaNK_`m4f>");
}

TEST(Rle, ReadsBackAsTheMask) {
  std::mt19937 random(3);
  const auto below = [&](guint limit) { return static_cast<guint>(random() % limit); };
  for (int round = 0; round < 100; ++round) {
    const guint width = below(40) + 1, height = below(40) + 1, share = below(101);
    const TestMask mask(width, height, [&](guint, guint) { return below(100) < share; });
    const MaskView map(mask.buffer());
    std::string expected;
    for (guint x = 0; x < width; ++x)
      for (guint y = 0; y < height; ++y) expected += map.row(y)[x] != 0 ? '#' : '.';
    EXPECT_EQ(pixels_in(rle_of(map)), expected);
  }
}

TEST(Rle, CoversTheWholeFrame) {
  const TestMask mask({"##", "#."});
  // 4x4 at 1,-1 in a frame of 6x4: its first row is above the frame.
  const std::string expected =
      "...."
      "###."
      "###."
      "#..."
      "#..."
      "....";
  EXPECT_EQ(pixels_in(rle_of(MaskView(mask.buffer()), {1, -1, 5, 3}, {6, 4})), expected);
  EXPECT_EQ(rle_of(MaskView(mask.buffer()), {9, 9, 12, 12}, {6, 4}), "h0");
}

TEST(RunLengths, JoinRunsThatTouch) {
  RunLengths lengths;
  lengths.add(0, 3);
  lengths.add(3, 5);
  lengths.add(7, 7);
  lengths.add(7, 9);
  EXPECT_EQ(lengths_in(lengths.text(12)), (std::vector<int64_t>{0, 5, 2, 2, 3}));
  EXPECT_EQ(lengths_in(lengths.text(12)), (std::vector<int64_t>{12})) << "consumed";
}

TEST(RunLengths, MayBeLarge) {
  RunLengths lengths;
  const uint64_t pixels = uint64_t{1} << 32;
  lengths.add(pixels - 5, pixels - 4);
  EXPECT_EQ(lengths_in(lengths.text(pixels)), (std::vector<int64_t>{int64_t(pixels) - 5, 1, 4}));
}

}  // namespace
}  // namespace keepbox
