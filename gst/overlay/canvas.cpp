// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on each plane with its own subsampling and colours.
#include "gst/overlay/canvas.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "core/formula/mask.h"

namespace keepbox {
namespace {

/// Returns the pixels of a subsampled plane under a rectangle of the frame, including shared ones.
cv::Rect under(const cv::Rect& r, const Plane& plane) {
  const auto up = [](int v, int shift) { return (v + (1 << shift) - 1) >> shift; };
  const cv::Point first(r.x >> plane.shift_x, r.y >> plane.shift_y);
  const cv::Point last(up(r.x + r.width, plane.shift_x), up(r.y + r.height, plane.shift_y));
  return cv::Rect(first, last) & cv::Rect(0, 0, plane.form.width, plane.form.height);
}

}  // namespace

Canvas::Canvas(const GstVideoInfo& info, Raster& raster)
    : raster_(raster), width_(GST_VIDEO_INFO_WIDTH(&info)), height_(GST_VIDEO_INFO_HEIGHT(&info)) {
  const GstVideoFormatInfo* format = info.finfo;
  yuv_ = !GST_VIDEO_FORMAT_INFO_IS_RGB(format);
  if (yuv_) gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &kr_, &kb_);
  gst_video_color_range_offsets(info.colorimetry.range, format, offset_.data(), scale_.data());
  planes_.resize(GST_VIDEO_INFO_N_PLANES(&info));
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
    const guint index = GST_VIDEO_FORMAT_INFO_PLANE(format, c);
    Plane& plane = planes_[index];
    plane.form = plane_form(info, index);
    plane.shift_x = static_cast<int>(GST_VIDEO_FORMAT_INFO_W_SUB(format, c));
    plane.shift_y = static_cast<int>(GST_VIDEO_FORMAT_INFO_H_SUB(format, c));
    const int offset = static_cast<int>(GST_VIDEO_FORMAT_INFO_POFFSET(format, c));
    // The offset of P010's V is 1 in GStreamer 1.28 and earlier, although it is in bytes.
    const int channel = plane.form.bytes == 1 ? offset : (offset + 1) / 2;
    if (c < 3) plane.component[channel] = static_cast<int>(c);
    align_x_ = std::max(align_x_, 1 << plane.shift_x);
    align_y_ = std::max(align_y_, 1 << plane.shift_y);
  }
}

/// Returns the colour in the plane's channels, with opaque alpha and padding.
Paint Canvas::paint_for(const Plane& plane, Rgb color) const {
  std::array<double, 3> value{color.r / 255.0, color.g / 255.0, color.b / 255.0};
  if (yuv_) {
    const auto [r, g, b] = value;
    const double y = kr_ * r + (1 - kr_ - kb_) * g + kb_ * b;
    value = {y, (b - y) / (2 * (1 - kb_)), (r - y) / (2 * (1 - kr_))};
  }
  const int max_value = (1 << plane.form.bits) - 1;
  Paint paint;
  for (int channel = 0; channel < 4; ++channel) {
    const int c = plane.component[channel];
    const int bits = c < 0 ? max_value : cvRound(offset_[c] + scale_[c] * value[c]);
    paint[channel] =
        static_cast<uint16_t>(std::clamp(bits, 0, max_value) << plane.form.unused_bits);
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
  for (size_t i = 0; i < planes_.size(); ++i)
    raster_.fill(i, under(rect, planes_[i]), paint_for(planes_[i], color));
}

std::span<const Ink> Canvas::inks_for(const cv::Rect& at, Rgb color) {
  for (size_t i = 0; i < planes_.size(); ++i) {
    const Plane& plane = planes_[i];
    inks_[i] = {under(at, plane), paint_for(plane, color), plane.shift_x, plane.shift_y};
  }
  return std::span(inks_).first(planes_.size());
}

void Canvas::blend(const cv::Rect& at, const cv::Mat& mask, cv::Mat& coarse, Rgb color, int gain) {
  raster_.blend(mask, inks_for(at, color), gain, coarse);
}

bool Canvas::tint(const FrameMask& mask, Rgb color, int edge) {
  const MaskView pixels(mask.pixels);
  if (!is_mask(pixels)) return false;
  const auto [width, height] = size();
  const EnlargedMask enlarged{
      .pixels = &pixels,
      .across = mask_side(mask.place.x1, mask.place.x2, int(pixels.width()), width),
      .down = mask_side(mask.place.y1, mask.place.y2, int(pixels.height()), height)};
  const MaskSide &x = enlarged.across, &y = enlarged.down;
  const cv::Rect extent(cv::Point(x.first, y.first), cv::Point(x.last, y.last));
  if (extent.empty()) return true;
  const cv::Point margin(kSmoothingMargin, kSmoothingMargin);
  const cv::Rect at = aligned(cv::Rect(extent.tl() - margin, extent.br() + margin) & bounds());
  return raster_.tint(enlarged, at, edge, inks_for(at, color));
}

void Canvas::average(const cv::Rect& at, const cv::Mat& mask, double block, bool smooth,
                     PaintScratch& scratch) {
  const cv::Size blocks(cvCeil(at.width / block), cvCeil(at.height / block));
  for (size_t i = 0; i < planes_.size(); ++i) {
    const Plane& plane = planes_[i];
    const cv::Rect part = under(at, plane);
    cv::Mat pixels = raster_.take(i, part), cover = mask;
    if (plane.shift_x != 0 || plane.shift_y != 0) {
      cover = cleared(scratch.coarse, {at.width >> plane.shift_x, at.height >> plane.shift_y});
      cv::resize(mask, cover, cover.size(), 0, 0, cv::INTER_AREA);
    }
    const cv::Size fewer(std::min(blocks.width, pixels.cols), std::min(blocks.height, pixels.rows));
    cv::resize(pixels, scratch.means, fewer, 0, 0, cv::INTER_AREA);
    cv::resize(scratch.means, scratch.drawn, pixels.size(), 0, 0,
               smooth ? cv::INTER_LINEAR : cv::INTER_NEAREST);
    if (const int unused = plane.form.unused_bits; unused != 0)
      cv::bitwise_and(scratch.drawn, cv::Scalar::all(0xffff >> unused << unused), scratch.drawn);
    scratch.drawn.copyTo(pixels, cover(cv::Rect({0, 0}, pixels.size())));
    raster_.put(i, part, pixels);
  }
}

}  // namespace keepbox
