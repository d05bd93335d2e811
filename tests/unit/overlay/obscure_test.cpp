// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests of the pixels where objects are obscured.
#include "gst/overlay/obscure.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/masks.h"
#include "tests/unit/overlay/frame.h"

namespace keepbox::test {
namespace {

using Where = std::function<bool(int x, int y)>;
constexpr ObscuringSize kBlocks{.strength = 0.25, .margin = 0};

/// A frame of noise, and a copy of its samples.
class NoisyFrame : public Frame {
 public:
  explicit NoisyFrame(GstVideoFormat format, guint width = 67, guint height = 45)
      : Frame(format, width, height) {
    std::minstd_rand random(7);
    auto* data = frame.map[0].data;
    for (gsize i = 0; i < frame.map[0].size; ++i) data[i] = static_cast<guint8>(random() >> 8);
    before_.assign(bytes().begin(), bytes().end());
  }

  void obscure(const ObscuredBox& box, ObscuringSize size = kBlocks) {
    PaintScratch scratch;
    ASSERT_TRUE(keepbox::obscure(*canvas, {&box, 1}, size, scratch));
  }

  bool unchanged() const { return std::ranges::equal(before_, bytes()); }

  /// Returns a sample before and after.
  std::array<int, 2> values(guint c, int x, int y) const {
    const auto* data = static_cast<const uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
    const auto offset = (data - frame.map[0].data) + y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
                        x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
    return {before_[static_cast<size_t>(offset)], bytes()[static_cast<size_t>(offset)]};
  }

 private:
  std::vector<uint8_t> before_;
};

/// Counts of what happened to the samples of a component.
struct Changes {
  int inside = 0, changed_inside = 0, changed_outside = 0;
  std::set<int> values;  // inside
  double mean_off = 0;   // of the mean inside
};

/// @param in pixels that have to be obscured; a subsampled pixel is inside if any of its pixels is.
Changes changes_of(const NoisyFrame& noise, guint c, const Where& in) {
  Changes out;
  const GstVideoFormatInfo* format = noise.frame.info.finfo;
  const int bx = 1 << GST_VIDEO_FORMAT_INFO_W_SUB(format, c);
  const int by = 1 << GST_VIDEO_FORMAT_INFO_H_SUB(format, c);
  for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&noise.frame, c); ++y)
    for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&noise.frame, c); ++x) {
      bool inside = false;
      for (int i = 0; i < bx * by; ++i) inside |= in(x * bx + i % bx, y * by + i / bx);
      const auto [before, after] = noise.values(c, x, y);
      (inside ? out.changed_inside : out.changed_outside) += before != after;
      if (!inside) continue;
      ++out.inside;
      out.values.insert(after);
      out.mean_off += after - before;
    }
  out.mean_off = std::abs(out.mean_off) / out.inside;
  return out;
}

class ObscureFormats : public testing::TestWithParam<const char*> {};

TEST_P(ObscureFormats, LeavesTheMeansOfBlocks) {
  const auto rectangle = [](int x, int y) { return x >= 8 && x < 50 && y >= 9 && y < 41; };
  for (const Obscuring how : {Obscuring::kPixelate, Obscuring::kBlur}) {
    NoisyFrame noise(gst_video_format_from_string(GetParam()));
    noise.obscure({.box = {9.2f, 10, 49.4f, 40.1f}, .how = how});  // grown by a pixel
    for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&noise.frame); ++c) {
      const Changes found = changes_of(noise, c, rectangle);
      EXPECT_EQ(found.changed_outside, 0) << c;
      EXPECT_GT(found.changed_inside, found.inside * 9 / 10) << c;
      EXPECT_LT(found.mean_off, 4) << c;
      if (how == Obscuring::kPixelate) {
        EXPECT_LE(found.values.size(), 20u) << "5 x 4 blocks";
      }
      // A mean of noise is far from both ends of the range.
      EXPECT_GT(*found.values.begin(), 60) << c;
      EXPECT_LT(*found.values.rbegin(), 195) << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Obscure, ObscureFormats,
                         testing::Values("RGB", "BGR", "RGBA", "BGRA", "ARGB", "ABGR", "RGBx",
                                         "BGRx", "xRGB", "xBGR", "GRAY8", "I420", "YV12", "NV12",
                                         "NV21", "Y42B", "Y444"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Obscure, FollowsAnOrientedBox) {
  NoisyFrame noise(GST_VIDEO_FORMAT_GRAY8);
  const float angle = 0.6f;
  noise.obscure({.box = {13, 18, 53, 28}, .angle = angle});
  const auto within = [&](double more) {
    return [=](int x, int y) {
      const double dx = x + 0.5 - 33, dy = y + 0.5 - 23, c = std::cos(angle), s = std::sin(angle);
      return std::abs(dx * c + dy * s) <= 20 + more && std::abs(dy * c - dx * s) <= 5 + more;
    };
  };
  const Changes inner = changes_of(noise, 0, within(1)), outer = changes_of(noise, 0, within(2.1));
  EXPECT_GT(inner.changed_inside, inner.inside * 9 / 10);
  EXPECT_EQ(outer.changed_outside, 0);
}

TEST(Obscure, FollowsAMask) {
  const TestMask mask({"####....", "####....", "........", "....####"});
  NoisyFrame noise(GST_VIDEO_FORMAT_GRAY8, 64, 32);
  noise.obscure({.box = {0, 0, 64, 32}, .mask = mask.over({0, 0, 64, 32})});
  const Changes inner =
      changes_of(noise, 0, [](int x, int y) { return (x < 28 && y < 12) || (x >= 36 && y >= 28); });
  EXPECT_GT(inner.changed_inside, inner.inside * 9 / 10);
  const Changes outer =
      changes_of(noise, 0, [](int x, int y) { return (x < 38 && y < 22) || (x >= 26 && y >= 18); });
  EXPECT_EQ(outer.changed_outside, 0);
}

TEST(Obscure, TakesTheBoxIfTheMaskIsEmpty) {
  const TestMask mask({"..", ".."});
  NoisyFrame noise(GST_VIDEO_FORMAT_GRAY8);
  noise.obscure({.box = {10, 10, 30, 30}, .mask = mask.over({10, 10, 30, 30})});
  const Changes found =
      changes_of(noise, 0, [](int x, int y) { return x >= 10 && x < 30 && y >= 10 && y < 30; });
  EXPECT_GT(found.changed_inside, found.inside * 9 / 10);
}

TEST(Obscure, GrowsByTheMargin) {
  const Where grown = [](int x, int y) { return x >= 5 && x < 45 && y >= 5 && y < 35; };
  const TestMask mask({"#"});
  for (const FrameMask& of : {FrameMask{}, mask.over({10, 10, 40, 30})}) {
    NoisyFrame noise(GST_VIDEO_FORMAT_GRAY8);
    noise.obscure({.box = {10, 10, 40, 30}, .mask = of}, {.strength = 0.25, .margin = 0.13});
    const Changes found = changes_of(noise, 0, grown);
    EXPECT_GT(found.changed_inside, found.inside * 9 / 10);
    EXPECT_EQ(found.changed_outside, 0);
  }
}

TEST(Obscure, IsClippedToTheFrame) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Box& skipped : {Box{kNan, 0, 9, 9}, Box{0, 0, kInf, 9}, Box{80, 5, 90, 9}}) {
    NoisyFrame noise(GST_VIDEO_FORMAT_I420);
    noise.obscure({.box = skipped});
    EXPECT_TRUE(noise.unchanged());
  }
  for (const Box& large : {Box{-1e30f, -1e30f, 1e30f, 1e30f}, Box{-500, -20, 66, 80}})
    for (const float angle : {0.0f, 1e-3f}) {
      NoisyFrame noise(GST_VIDEO_FORMAT_I420);
      noise.obscure({.box = large, .angle = angle});
      for (guint c = 0; c < 3; ++c)
        EXPECT_LE(changes_of(noise, c, [](int, int) { return true; }).values.size(), 3u);
    }
}

TEST(Obscure, ChangesTheSmallestBoxes) {
  NoisyFrame noise(GST_VIDEO_FORMAT_RGB);
  noise.obscure({.box = {20, 20, 20.5f, 20.5f}, .how = Obscuring::kPixelate},
                {.strength = 0.01, .margin = 0});
  EXPECT_FALSE(noise.unchanged());
}

}  // namespace
}  // namespace keepbox::test
