// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames to paint on, and samples of red.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gst/overlay/paint.h"

namespace keepbox::test {

inline constexpr Rgb kRed{255, 0, 0};
inline constexpr uint8_t kBackground = 7;  // not a sample of red in any format

/// All formats that can be drawn on.
inline constexpr const char* kPaintFormats[] = {
    "RGB",       "BGR",       "RGBA",      "BGRA",      "ARGB",      "ABGR",     "RGBx",
    "BGRx",      "xRGB",      "xBGR",      "GRAY8",     "I420",      "YV12",     "NV12",
    "NV21",      "Y42B",      "Y444",      "P010_10LE", "P012_LE",   "P016_LE",  "I420_10LE",
    "I420_12LE", "I422_10LE", "I422_12LE", "Y444_10LE", "Y444_12LE", "Y444_16LE"};

/// A mapped frame with every sample set to kBackground, in units of 8 bits.
class Frame {
 public:
  Frame(GstVideoFormat format, guint width, guint height, const char* colorimetry = nullptr) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, format, width, height);
    if (colorimetry != nullptr) gst_video_colorimetry_from_string(&info.colorimetry, colorimetry);
    buffer_ = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    gst_buffer_memset(buffer_, 0, kBackground, info.size);
    gst_video_frame_map(&frame, &info, buffer_, GST_MAP_READWRITE);
    if (wide()) {
      const std::span words(reinterpret_cast<uint16_t*>(frame.map[0].data), info.size / 2);
      std::ranges::fill(words, static_cast<uint16_t>(kBackground << shift()));
    }
    blank_.assign(bytes().begin(), bytes().end());
    canvas.emplace(frame);
  }
  ~Frame() {
    gst_video_frame_unmap(&frame);
    gst_buffer_unref(buffer_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Returns the highest 8 bits of a sample.
  uint8_t at(guint component, int x, int y) const {
    const GstVideoFormatInfo* format = frame.info.finfo;
    const guint plane = GST_VIDEO_FORMAT_INFO_PLANE(format, component);
    const auto* row = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane)) +
                      y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component);
    const int pixel = x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component);
    if (!wide())
      return row[pixel + static_cast<int>(GST_VIDEO_FORMAT_INFO_POFFSET(format, component))];
    const bool second = component == 2 && plane == 1;  // V of P010, P012 and P016
    return static_cast<uint8_t>(reinterpret_cast<const uint16_t*>(row + pixel)[second] >> shift());
  }
  std::span<const uint8_t> bytes() const { return {frame.map[0].data, frame.map[0].size}; }
  /// Returns the number of samples that were drawn on.
  std::ptrdiff_t changed() const {
    std::ptrdiff_t out = 0;
    for (size_t i = 0; i < bytes().size(); i += wide() ? 2 : 1)
      out += bytes()[i] != blank_[i] || (wide() && bytes()[i + 1] != blank_[i + 1]);
    return out;
  }
  bool untouched() const { return std::ranges::equal(bytes(), blank_); }

  GstVideoFrame frame;
  std::optional<HostCanvas> canvas;

 private:
  bool wide() const { return GST_VIDEO_INFO_COMP_DEPTH(&frame.info, 0) > 8; }
  int shift() const {
    return static_cast<int>(GST_VIDEO_INFO_COMP_DEPTH(&frame.info, 0) - 8 +
                            GST_VIDEO_FORMAT_INFO_SHIFT(frame.info.finfo, 0));
  }

  GstBuffer* buffer_;
  std::vector<uint8_t> blank_;
};

inline Mark box(float x1, float y1, float x2, float y2, float angle = 0, std::string text = {}) {
  Mark mark{.box = {x1, y1, x2, y2}, .angle = angle, .color = kRed};
  if (!text.empty()) mark.caption.push_back(std::move(text));
  return mark;
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
