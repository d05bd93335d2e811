// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames to paint on, and samples of red.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "gst/overlay/paint.h"

namespace keepbox::test {

inline constexpr Rgb kRed{255, 0, 0};
inline constexpr uint8_t kBackground = 7;  // not a sample of red in any format

/// A mapped frame with every byte set to kBackground.
class Frame {
 public:
  Frame(GstVideoFormat format, guint width, guint height, const char* colorimetry = nullptr) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, format, width, height);
    if (colorimetry != nullptr) gst_video_colorimetry_from_string(&info.colorimetry, colorimetry);
    buffer_ = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    gst_buffer_memset(buffer_, 0, kBackground, info.size);
    gst_video_frame_map(&frame, &info, buffer_, GST_MAP_READWRITE);
    canvas.emplace(frame);
  }
  ~Frame() {
    gst_video_frame_unmap(&frame);
    gst_buffer_unref(buffer_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  uint8_t at(guint component, int x, int y) const {
    const auto* data = static_cast<const uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, component));
    return data[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) +
                x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component)];
  }
  std::span<const uint8_t> bytes() const { return {frame.map[0].data, frame.map[0].size}; }
  bool untouched() const {
    return std::ranges::all_of(bytes(), [](uint8_t v) { return v == kBackground; });
  }

  GstVideoFrame frame;
  std::optional<HostCanvas> canvas;

 private:
  GstBuffer* buffer_;
};

inline Mark box(float x1, float y1, float x2, float y2, float angle = 0, std::string text = {}) {
  return {.box = {x1, y1, x2, y2}, .angle = angle, .color = kRed, .text = std::move(text)};
}

inline void paint(Frame& frame, const Mark& mark, Pen pen = {}) {
  ASSERT_TRUE(Painter().paint(*frame.canvas, {&mark, 1}, pen));
}

/// Returns red in BT.601, in the default range of the format.
inline std::array<int, 3> red_of(const Frame& frame) {
  if (GST_VIDEO_INFO_IS_RGB(&frame.frame.info)) return {255, 0, 0};
  if (frame.frame.info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255) return {76, 85, 255};
  return {81, 90, 240};
}

}  // namespace keepbox::test
