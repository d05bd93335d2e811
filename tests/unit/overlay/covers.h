// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks which pixels of a frame were drawn.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "tests/unit/overlay/frame.h"

namespace keepbox::test {

using Covers = std::function<bool(int x, int y)>;

/// Outline of a rectangle of whole pixels.
inline Covers outline(int x1, int y1, int x2, int y2, int t) {
  return [=](int x, int y) {
    const bool in = x >= x1 && x < x2 && y >= y1 && y < y2;
    return in && (x < x1 + t || x >= x2 - t || y < y1 + t || y >= y2 - t);
  };
}

/// Checks every sample: red if its pixel is covered, otherwise unchanged.
inline void expect_red(const Frame& f, const Covers& covers, std::array<int, 3> red) {
  const GstVideoFormatInfo* format = f.frame.info.finfo;
  std::ptrdiff_t changed = 0;
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&f.frame); ++c) {
    const int bx = 1 << GST_VIDEO_FORMAT_INFO_W_SUB(format, c);
    const int by = 1 << GST_VIDEO_FORMAT_INFO_H_SUB(format, c);
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&f.frame, c); ++y)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&f.frame, c); ++x) {
        bool covered = false;
        for (int i = 0; i < bx * by; ++i) {
          const int px = x * bx + i % bx, py = y * by + i / bx;
          covered |= px < f.frame.info.width && py < f.frame.info.height && covers(px, py);
        }
        const int expected = !covered ? kBackground : c < 3 ? red[c] : 255;
        ASSERT_EQ(f.at(c, x, y), expected) << "component " << c << " at " << x << "," << y;
        changed += covered;
        if (covered && c == 0 && GST_VIDEO_FORMAT_INFO_IS_RGB(format) &&
            !GST_VIDEO_FORMAT_INFO_HAS_ALPHA(format) &&
            GST_VIDEO_FORMAT_INFO_PSTRIDE(format, 0) == 4)
          ++changed;  // padding byte of RGBx
      }
  }
  EXPECT_EQ(f.changed(), changed) << "bytes between rows or planes were written";
}

}  // namespace keepbox::test
