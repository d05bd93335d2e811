// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on each plane with its own subsampling and colours.
#include "gst/overlay/canvas.h"

#include <algorithm>
#include <cstring>
#include <opencv2/imgproc.hpp>

namespace keepbox {
namespace {

constexpr int kChunk = 32;  // pixels that are skipped at once if none is covered

/// Returns the pixels of a subsampled plane under a rectangle of the frame, including shared ones.
cv::Rect under(const cv::Rect& r, const Plane& plane) {
  const auto up = [](int v, int shift) { return (v + (1 << shift) - 1) >> shift; };
  const cv::Point first(r.x >> plane.shift_x, r.y >> plane.shift_y);
  const cv::Point last(up(r.x + r.width, plane.shift_x), up(r.y + r.height, plane.shift_y));
  return cv::Rect(first, last) & cv::Rect({0, 0}, plane.pixels.size());
}

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

void blend_plane(cv::Mat pixels, const cv::Mat& coverage, cv::Vec4b paint) {
  switch (pixels.channels()) {
    case 1: return blend_plane<1>(pixels, coverage, paint);
    case 2: return blend_plane<2>(pixels, coverage, paint);
    case 3: return blend_plane<3>(pixels, coverage, paint);
    default: return blend_plane<4>(pixels, coverage, paint);
  }
}

}  // namespace

cv::Mat cleared(cv::Mat& kept, cv::Size size) {
  if (kept.rows < size.height || kept.cols < size.width)
    kept.create(std::max(kept.rows, size.height), std::max(kept.cols, size.width), CV_8U);
  return kept(cv::Rect({0, 0}, size)).setTo(0);
}

Canvas::Canvas(GstVideoFrame& frame)
    : width_(GST_VIDEO_FRAME_WIDTH(&frame)), height_(GST_VIDEO_FRAME_HEIGHT(&frame)) {
  const GstVideoFormatInfo* format = frame.info.finfo;
  const GstVideoColorimetry& colors = frame.info.colorimetry;
  yuv_ = !GST_VIDEO_FORMAT_INFO_IS_RGB(format);
  if (yuv_) gst_video_color_matrix_get_Kr_Kb(colors.matrix, &kr_, &kb_);
  gst_video_color_range_offsets(colors.range, format, offset_.data(), scale_.data());
  planes_.resize(GST_VIDEO_FRAME_N_PLANES(&frame));
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
    const guint index = GST_VIDEO_FORMAT_INFO_PLANE(format, c);
    Plane& plane = planes_[index];
    plane.pixels = cv::Mat(
        GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c), GST_VIDEO_FRAME_COMP_WIDTH(&frame, c),
        CV_8UC(GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)), GST_VIDEO_FRAME_PLANE_DATA(&frame, index),
        static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, index)));
    plane.shift_x = static_cast<int>(GST_VIDEO_FORMAT_INFO_W_SUB(format, c));
    plane.shift_y = static_cast<int>(GST_VIDEO_FORMAT_INFO_H_SUB(format, c));
    if (c < 3) plane.component[GST_VIDEO_FORMAT_INFO_POFFSET(format, c)] = static_cast<int>(c);
    align_x_ = std::max(align_x_, 1 << plane.shift_x);
    align_y_ = std::max(align_y_, 1 << plane.shift_y);
  }
}

/// Returns the colour in the plane's channels, with opaque alpha and padding.
cv::Vec4b Canvas::paint_for(const Plane& plane, Rgb color) const {
  std::array<double, 3> value{color.r / 255.0, color.g / 255.0, color.b / 255.0};
  if (yuv_) {
    const auto [r, g, b] = value;
    const double y = kr_ * r + (1 - kr_ - kb_) * g + kb_ * b;
    value = {y, (b - y) / (2 * (1 - kb_)), (r - y) / (2 * (1 - kr_))};
  }
  cv::Vec4b paint = cv::Vec4b::all(255);
  for (int channel = 0; channel < 4; ++channel) {
    const int c = plane.component[channel];
    if (c >= 0) paint[channel] = cv::saturate_cast<uint8_t>(offset_[c] + scale_[c] * value[c]);
  }
  return paint;
}

cv::Rect Canvas::aligned(const cv::Rect& r) const {
  const int dx = align_x_, dy = align_y_;
  const cv::Point end((r.x + r.width + dx - 1) & -dx, (r.y + r.height + dy - 1) & -dy);
  return {cv::Point(r.x & -dx, r.y & -dy), end};
}

void Canvas::fill(cv::Rect rect, Rgb color) {
  rect &= bounds();
  if (rect.empty()) return;
  for (Plane& plane : planes_)
    plane.pixels(under(rect, plane)).setTo(cv::Scalar(paint_for(plane, color)));
}

void Canvas::blend(const cv::Rect& at, const cv::Mat& mask, cv::Mat& coarse, Rgb color,
                   double gain) {
  for (Plane& plane : planes_) {
    cv::Mat cover = mask;
    if (plane.shift_x != 0 || plane.shift_y != 0) {
      cover = cleared(coarse, {at.width >> plane.shift_x, at.height >> plane.shift_y});
      cv::resize(mask, cover, cover.size(), 0, 0, cv::INTER_AREA);
      if (gain != 1) cover *= gain;
    }
    blend_plane(plane.pixels(under(at, plane)), cover, paint_for(plane, color));
  }
}

void Canvas::average(const cv::Rect& at, const cv::Mat& mask, double block, bool smooth,
                     PaintScratch& scratch) {
  const cv::Size blocks(cvCeil(at.width / block), cvCeil(at.height / block));
  for (Plane& plane : planes_) {
    cv::Mat pixels = plane.pixels(under(at, plane)), cover = mask;
    if (plane.shift_x != 0 || plane.shift_y != 0) {
      cover = cleared(scratch.coarse, {at.width >> plane.shift_x, at.height >> plane.shift_y});
      cv::resize(mask, cover, cover.size(), 0, 0, cv::INTER_AREA);
    }
    const cv::Size fewer(std::min(blocks.width, pixels.cols), std::min(blocks.height, pixels.rows));
    cv::resize(pixels, scratch.means, fewer, 0, 0, cv::INTER_AREA);
    cv::resize(scratch.means, scratch.drawn, pixels.size(), 0, 0,
               smooth ? cv::INTER_LINEAR : cv::INTER_NEAREST);
    scratch.drawn.copyTo(pixels, cover(cv::Rect({0, 0}, pixels.size())));
  }
}

}  // namespace keepbox
