// SPDX-License-Identifier: LGPL-2.1-or-later
// Fills and blends rows of pixels in host memory.
#include "gst/overlay/raster/raster.h"

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
void blend_plane(cv::Mat& pixels, const cv::Mat& coverage, cv::Vec4b color) {
  std::array<uint8_t, channels * kChunk> paint;
  for (size_t i = 0; i < paint.size(); ++i) paint[i] = color[static_cast<int>(i % channels)];
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

}  // namespace

PlaneForm plane_form(const GstVideoInfo& info, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  const auto first = static_cast<guint>(components[0]);
  return {GST_VIDEO_INFO_COMP_WIDTH(&info, first), GST_VIDEO_INFO_COMP_HEIGHT(&info, first),
          GST_VIDEO_INFO_COMP_PSTRIDE(&info, first)};
}

HostRaster::HostRaster(const GstVideoFrame& frame) {
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    const PlaneForm form = plane_form(frame.info, i);
    planes_[i] = cv::Mat(form.height, form.width, CV_8UC(form.channels),
                         GST_VIDEO_FRAME_PLANE_DATA(&frame, i),
                         static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i)));
  }
}

void HostRaster::fill(size_t plane, const cv::Rect& at, const cv::Vec4b& paint) {
  planes_[plane](at).setTo(cv::Scalar(paint));
}

void HostRaster::blend(size_t plane, const cv::Rect& at, const cv::Mat& cover,
                       const cv::Vec4b& paint) {
  cv::Mat pixels = planes_[plane](at);
  switch (pixels.channels()) {
    case 1: return blend_plane<1>(pixels, cover, paint);
    case 2: return blend_plane<2>(pixels, cover, paint);
    case 3: return blend_plane<3>(pixels, cover, paint);
    default: return blend_plane<4>(pixels, cover, paint);
  }
}

}  // namespace keepbox
