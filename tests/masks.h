// SPDX-License-Identifier: LGPL-2.1-or-later
// Object masks for tests.
#pragma once

#include <gst/video/video.h>

#include <string_view>
#include <vector>

#include "gst/metas/boxes.h"

namespace keepbox::test {

/// A mask made from rows of text, in which a dot is background. Rows are separated by `gap` bytes
/// other than 0.
class TestMask {
 public:
  explicit TestMask(const std::vector<std::string_view>& rows, gsize gap = 3)
      : TestMask(
            static_cast<guint>(rows[0].size()), static_cast<guint>(rows.size()),
            [&](guint x, guint y) { return rows[y][x] != '.'; }, gap) {}

  template <class Covers>
  TestMask(guint width, guint height, Covers covers, gsize gap = 3) : place{} {
    const gsize stride = width + gap;
    pixels_ = gst_buffer_new_allocate(nullptr, stride * height, nullptr);
    gst_buffer_memset(pixels_, 0, 0xff, stride * height);
    for (guint y = 0; y < height; ++y)
      for (guint x = 0; x < width; ++x)
        gst_buffer_memset(pixels_, y * stride + x, covers(x, y) ? 1 : 0, 1);
    gsize offsets[GST_VIDEO_MAX_PLANES] = {0};
    gint strides[GST_VIDEO_MAX_PLANES] = {static_cast<gint>(stride)};
    gst_buffer_add_video_meta_full(pixels_, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                   width, height, 1, offsets, strides);
    place = {0, 0, static_cast<float>(width), static_cast<float>(height)};
  }
  ~TestMask() { gst_buffer_unref(pixels_); }
  TestMask(const TestMask&) = delete;
  TestMask& operator=(const TestMask&) = delete;

  GstBuffer* buffer() const { return pixels_; }
  FrameMask over(const Box& at) const { return {.pixels = pixels_, .place = at}; }
  operator FrameMask() const { return over(place); }

  Box place;  // one frame pixel per mask pixel

 private:
  GstBuffer* pixels_;
};

}  // namespace keepbox::test
