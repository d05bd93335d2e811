// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on each plane with its own subsampling and colours.
#include "gst/overlay/canvas.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/formula/mask.h"
#include "core/formula/oriented.h"

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

namespace {

constexpr float kFar = 1 << 20;  // pixels; beyond every frame, and safe in fixed point

/// Returns the integer pixels of an upright box, at least one; edges are rounded as in
/// GstAnalyticsODMtd.
cv::Rect pixels_of(const Box& b) {
  const auto edge = [](float v) { return cvFloor(v + 0.5f); };
  const int x = edge(b.x1), y = edge(b.y1);
  return {x, y, std::max(edge(b.x2) - x, 1), std::max(edge(b.y2) - y, 1)};
}

cv::Rect around(const std::array<cv::Point2d, 4>& corners) {
  const auto [left, right] = std::ranges::minmax(corners, {}, &cv::Point2d::x);
  const auto [top, bottom] = std::ranges::minmax(corners, {}, &cv::Point2d::y);
  const int x = cvFloor(left.x), y = cvFloor(top.y);
  return {x, y, cvCeil(right.x) - x, cvCeil(bottom.y) - y};
}

}  // namespace

std::array<cv::Point2d, 4> Outline::corners(double inset) const {
  const auto [a, b, c, d] = corners_of({box, angle}, inset).at;
  return {{{a.x, a.y}, {b.x, b.y}, {c.x, c.y}, {d.x, d.y}}};
}

std::array<cv::Rect, 4> Outline::edges(int thickness) const {
  const cv::Rect& e = extent;
  const int dx = std::min(thickness, e.width), dy = std::min(thickness, e.height);
  return {cv::Rect(e.x, e.y, e.width, dy), cv::Rect(e.x, e.y + e.height - dy, e.width, dy),
          cv::Rect(e.x, e.y, dx, e.height), cv::Rect(e.x + e.width - dx, e.y, dx, e.height)};
}

std::optional<Outline> outline_of(const Box& b, float angle) {
  if (!std::isfinite(double{b.x1} + b.y1 + b.x2 + b.y2 + angle)) return std::nullopt;
  const auto near = [](float v) { return std::clamp(v, -kFar, kFar); };
  const auto [x1, x2] = std::minmax({near(b.x1), near(b.x2)});
  const auto [y1, y2] = std::minmax({near(b.y1), near(b.y2)});
  Outline outline{.box = {x1, y1, x2, y2}, .angle = angle, .extent = {}};
  outline.extent = angle == 0 ? pixels_of(outline.box) : around(outline.corners(0));
  return outline;
}

namespace {

constexpr GstVideoFormat kLayerFormat = GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB;
constexpr int kPixel = 4;  // bytes

/// Returns the part of a frame under a part of the layer.
cv::Rect on_frame(const cv::Rect& at, Size frame, cv::Size layer) {
  const auto x = [&](int v) { return static_cast<int>(int64_t{v} * frame.width / layer.width); };
  const auto y = [&](int v) { return static_cast<int>(int64_t{v} * frame.height / layer.height); };
  const cv::Point first(x(at.x), y(at.y)), last(x(at.br().x), y(at.br().y));
  return {first, last};
}

/// Returns a composition of the rectangles that a buffer has, which are the same so that sinks keep
/// their textures, and removes them from the buffer. Transfer full.
GstVideoOverlayComposition* take_composition(GstBuffer* buffer) {
  GstVideoOverlayComposition* out = gst_video_overlay_composition_new(nullptr);
  auto* meta = gst_buffer_get_video_overlay_composition_meta(buffer);
  if (meta == nullptr) return out;
  for (guint i = 0; i < gst_video_overlay_composition_n_rectangles(meta->overlay); ++i)
    gst_video_overlay_composition_add_rectangle(
        out, gst_video_overlay_composition_get_rectangle(meta->overlay, i));
  gst_buffer_remove_video_overlay_composition_meta(buffer, meta);
  return out;
}

}  // namespace

/// The layer as a raster that notes the tiles that it draws on.
class Layer::Pixels final : public Raster {
 public:
  Pixels(cv::Mat pixels, cv::Mat& touched) : raster_(std::move(pixels)), touched_(touched) {}

  void fill(size_t plane, const cv::Rect& at, const Paint& paint) override {
    touch(at);
    raster_.fill(plane, at, paint);
  }
  void blend(const cv::Mat& cover, std::span<const Ink> inks, int gain, cv::Mat& coarse) override {
    touch(inks.front().at);
    raster_.blend(cover, inks, gain, coarse);
  }
  cv::Mat take(size_t plane, const cv::Rect& at) override { return raster_.take(plane, at); }
  void put(size_t plane, const cv::Rect& at, const cv::Mat& pixels) override {
    touch(at);
    raster_.put(plane, at, pixels);
  }

 private:
  void touch(const cv::Rect& at) {
    if (at.empty()) return;
    const cv::Point first(at.x / kTile, at.y / kTile);
    const cv::Point last((at.br().x - 1) / kTile + 1, (at.br().y - 1) / kTile + 1);
    touched_(cv::Rect(first, last)).setTo(1);
  }

  HostRaster raster_;
  cv::Mat& touched_;
};

void Layer::resize(cv::Size size) {
  if (pixels_.size() == size) return;
  pixels_ = cv::Mat::zeros(size, CV_8UC4);
  touched_ =
      cv::Mat::zeros((size.height + kTile - 1) / kTile, (size.width + kTile - 1) / kTile, CV_8U);
}

/// Joins tiles next to each other, and equal rows of them.
std::vector<cv::Rect> Layer::drawn() const {
  std::vector<cv::Rect> out;
  const auto add = [&out](const cv::Rect& run) {
    const auto above = std::ranges::find_if(out, [&](const cv::Rect& r) {
      return r.x == run.x && r.width == run.width && r.br().y == run.y;
    });
    if (above != out.end()) ++above->height;
    else out.push_back(run);
  };
  for (int y = 0; y < touched_.rows; ++y) {
    const uint8_t* row = touched_.ptr(y);
    for (int x = 0; x < touched_.cols; ++x) {
      const int first = x;
      while (x < touched_.cols && row[x] != 0) ++x;
      if (x > first) add({first, y, x - first, 1});
    }
  }
  return out;
}

/// Moves the pixels of some tiles to a buffer, which leaves them transparent.
GstBuffer* Layer::cut(const cv::Rect& at) {
  const gsize stride = gsize{kPixel} * static_cast<gsize>(at.width);
  const gsize size = stride * static_cast<gsize>(at.height);
  auto* bytes = static_cast<uint8_t*>(g_malloc(size));
  for (int y = 0; y < at.height; ++y) {
    uint8_t* row = pixels_.ptr(at.y + y, at.x);
    std::memcpy(bytes + gsize(y) * stride, row, stride);
    std::memset(row, 0, stride);
  }
  GstBuffer* out = gst_buffer_new_wrapped(bytes, size);
  gst_buffer_add_video_meta(out, GST_VIDEO_FRAME_FLAG_NONE, kLayerFormat,
                            static_cast<guint>(at.width), static_cast<guint>(at.height));
  return out;
}

void Layer::add(GstBuffer* buffer, Size frame) {
  GstVideoOverlayComposition* all = take_composition(buffer);
  const cv::Rect bounds({0, 0}, pixels_.size());
  for (const cv::Rect& tiles : drawn()) {
    const cv::Rect at = cv::Rect(tiles.tl() * kTile, tiles.size() * kTile) & bounds;
    const cv::Rect shown = on_frame(at, frame, bounds.size());
    GstBuffer* pixels = cut(at);
    GstVideoOverlayRectangle* rectangle = gst_video_overlay_rectangle_new_raw(
        pixels, shown.x, shown.y, static_cast<guint>(shown.width), static_cast<guint>(shown.height),
        GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
    gst_video_overlay_composition_add_rectangle(all, rectangle);
    gst_video_overlay_rectangle_unref(rectangle);
    gst_buffer_unref(pixels);
  }
  touched_.setTo(0);
  if (gst_video_overlay_composition_n_rectangles(all) > 0)
    gst_buffer_add_video_overlay_composition_meta(buffer, all);
  gst_video_overlay_composition_unref(all);
}

Status Layer::attach(GstBuffer* buffer, Size frame, float by,
                     const std::function<void(Canvas&)>& act) {
  const auto scaled = [by](uint32_t side) {
    return std::max(1, cvRound(static_cast<float>(side) * by));
  };
  const cv::Size layer(scaled(frame.width), scaled(frame.height));
  GstVideoInfo info;
  if (!gst_video_info_set_format(&info, kLayerFormat, static_cast<guint>(layer.width),
                                 static_cast<guint>(layer.height)))
    return reject(ErrorKind::kUnsupported, "The frame is too large to attach boxes to");
  resize(layer);
  Pixels raster(pixels_, touched_);
  Canvas canvas(info, raster);
  act(canvas);
  add(buffer, frame);
  return {};
}

}  // namespace keepbox
