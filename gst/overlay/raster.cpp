// SPDX-License-Identifier: LGPL-2.1-or-later
// Fills and blends rows of pixels in host memory.
#include "gst/overlay/raster.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace keepbox {
namespace {

constexpr int kChunk = 32;  // pixels that are skipped at once if none is covered

/// Blends a fixed number of pixels. Compilers vectorise 16-bit arithmetic only in loops of known
/// length on memory without aliases.
template <int channels, int count>
void blend_pixels(uint8_t* pixel, const uint8_t* cover, const uint8_t* paint) {
  constexpr size_t bytes = size_t{channels} * count;
  std::array<uint8_t, bytes> each, value, color;
  for (size_t i = 0; i < bytes; ++i) each[i] = cover[i / channels];
  std::memcpy(value.data(), pixel, bytes);
  std::memcpy(color.data(), paint, bytes);
  for (size_t i = 0; i < bytes; ++i) {
    const auto sum = uint16_t(value[i] * (255 - each[i]) + color[i] * each[i] + 128);
    value[i] = uint8_t(uint16_t(sum + (sum >> 8)) >> 8);  // by 255, rounded
  }
  std::memcpy(pixel, value.data(), bytes);
}

template <int channels>
void blend_plane(cv::Mat& pixels, const cv::Mat& coverage, const Paint& color) {
  std::array<uint8_t, channels * kChunk> paint;
  for (size_t i = 0; i < paint.size(); ++i)
    paint[i] = static_cast<uint8_t>(color[static_cast<int>(i % channels)]);
  for (int y = 0; y < pixels.rows; ++y) {
    uint8_t* pixel = pixels.ptr(y);
    const uint8_t* cover = coverage.ptr(y);
    int x = 0;
    for (; x + kChunk <= pixels.cols; x += kChunk) {
      std::array<uint64_t, kChunk / 8> any;
      std::memcpy(any.data(), cover + x, kChunk);
      if ((any[0] | any[1] | any[2] | any[3]) == 0) continue;
      blend_pixels<channels, kChunk>(pixel + x * channels, cover + x, paint.data());
    }
    for (; x < pixels.cols; ++x)
      if (cover[x] != 0) blend_pixels<channels, 1>(pixel + x * channels, cover + x, paint.data());
  }
}

/// Blends values of 16 bits, the lowest of which may be unused.
void blend_wide(cv::Mat& pixels, const cv::Mat& coverage, const Paint& paint, int unused_bits) {
  const int channels = pixels.channels();
  for (int y = 0; y < pixels.rows; ++y) {
    const uint8_t* cover = coverage.ptr(y);
    for (int x = 0; x < pixels.cols; ++x) {
      if (cover[x] == 0) continue;
      auto* pixel = pixels.ptr<uint16_t>(y) + ptrdiff_t{x} * channels;
      for (int c = 0; c < channels; ++c) {
        const uint32_t value = pixel[c] >> unused_bits, color = paint[c] >> unused_bits;
        const uint32_t mean =
            (value * (255u - cover[x]) + color * cover[x] + 127) / 255;  // rounded
        pixel[c] = static_cast<uint16_t>(mean << unused_bits);
      }
    }
  }
}

}  // namespace

cv::Mat cleared(cv::Mat& kept, cv::Size size) {
  if (kept.rows < size.height || kept.cols < size.width)
    kept.create(std::max(kept.rows, size.height), std::max(kept.cols, size.width), CV_8U);
  return kept(cv::Rect({0, 0}, size)).setTo(0);
}

PlaneForm plane_form(const GstVideoInfo& info, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  const auto first = static_cast<guint>(components[0]);
  const int bits = static_cast<int>(GST_VIDEO_INFO_COMP_DEPTH(&info, first));
  const int bytes = bits > 8 ? 2 : 1;
  return {.width = GST_VIDEO_INFO_COMP_WIDTH(&info, first),
          .height = GST_VIDEO_INFO_COMP_HEIGHT(&info, first),
          .channels = GST_VIDEO_INFO_COMP_PSTRIDE(&info, first) / bytes,
          .bytes = bytes,
          .bits = bits,
          .unused_bits = static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(info.finfo, first))};
}

Status check_alignment(const GstVideoFrame& frame) {
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    const auto address = std::bit_cast<uintptr_t>(GST_VIDEO_FRAME_PLANE_DATA(&frame, i));
    const auto stride = static_cast<uintptr_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i));
    if (plane_form(frame.info, i).bytes == 2 && ((address | stride) & 1) != 0)
      return reject(ErrorKind::kUnsupported, "The frame's planes of 16 bits are at odd addresses",
                    "put videoconvert before boxoverlay");
  }
  return {};
}

HostRaster::HostRaster(const GstVideoFrame& frame) {
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    const PlaneForm form = plane_form(frame.info, i);
    planes_[i] =
        cv::Mat(form.height, form.width, form.type(), GST_VIDEO_FRAME_PLANE_DATA(&frame, i),
                static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i)));
    unused_bits_[i] = form.unused_bits;
  }
}

void HostRaster::fill(size_t plane, const cv::Rect& at, const Paint& paint) {
  planes_[plane](at).setTo(cv::Scalar(paint[0], paint[1], paint[2], paint[3]));
}

void HostRaster::blend(size_t plane, const cv::Mat& cover, const Ink& ink) {
  cv::Mat pixels = planes_[plane](ink.at);
  if (pixels.depth() == CV_16U) return blend_wide(pixels, cover, ink.paint, unused_bits_[plane]);
  switch (pixels.channels()) {
    case 1: return blend_plane<1>(pixels, cover, ink.paint);
    case 2: return blend_plane<2>(pixels, cover, ink.paint);
    case 3: return blend_plane<3>(pixels, cover, ink.paint);
    default: return blend_plane<4>(pixels, cover, ink.paint);
  }
}

void HostRaster::blend(const cv::Mat& cover, std::span<const Ink> inks, int gain, cv::Mat& coarse) {
  for (size_t i = 0; i < inks.size(); ++i) {
    const Ink& ink = inks[i];
    if (ink.shift_x == 0 && ink.shift_y == 0) {
      blend(i, cover, ink);
      continue;
    }
    cv::Mat mean = cleared(coarse, {cover.cols >> ink.shift_x, cover.rows >> ink.shift_y});
    cv::resize(cover, mean, mean.size(), 0, 0, cv::INTER_AREA);
    if (gain != 1) mean *= gain;
    blend(i, mean, ink);
  }
}

}  // namespace keepbox
