// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws with OpenCV on the planes of a frame, each at its own subsampling and in its own colours.
#include "gst/overlay/paint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <ranges>
#include <vector>

namespace keepbox {
namespace {

constexpr int kShift = 8;         // fractional bits of slanted lines

/// One plane, without a copy. A channel without a component is padding or alpha.
struct Plane {
  cv::Mat pixels;
  int shift_x = 0, shift_y = 0;             // log2 of the subsampling
  std::array<int, 4> component{-1, -1, -1, -1};  // per channel: R, G, B or Y, U, V
};

/// The planes, and how colours are coded in them.
struct Canvas {
  int width = 0, height = 0;
  int align_x = 1, align_y = 1;  // luma pixels that share a chroma pixel
  std::vector<Plane> planes;
  bool yuv = false;
  double kr = 0.299, kb = 0.114;  // of the matrix; BT.601 where the caps name none
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offset{}, scale{};

  cv::Rect bounds() const { return {0, 0, width, height}; }
};

Canvas canvas_of(GstVideoFrame& frame) {
  const GstVideoFormatInfo* format = frame.info.finfo;
  const GstVideoColorimetry& colors = frame.info.colorimetry;
  Canvas canvas{.width = GST_VIDEO_FRAME_WIDTH(&frame), .height = GST_VIDEO_FRAME_HEIGHT(&frame)};
  canvas.yuv = !GST_VIDEO_FORMAT_INFO_IS_RGB(format);
  if (canvas.yuv) gst_video_color_matrix_get_Kr_Kb(colors.matrix, &canvas.kr, &canvas.kb);
  gst_video_color_range_offsets(colors.range, format, canvas.offset.data(), canvas.scale.data());
  canvas.planes.resize(GST_VIDEO_FRAME_N_PLANES(&frame));
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
    const guint index = GST_VIDEO_FORMAT_INFO_PLANE(format, c);
    Plane& plane = canvas.planes[index];
    plane.pixels = cv::Mat(GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c),
                           GST_VIDEO_FRAME_COMP_WIDTH(&frame, c),
                           CV_8UC(GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)),
                           GST_VIDEO_FRAME_PLANE_DATA(&frame, index),
                           static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, index)));
    plane.shift_x = static_cast<int>(GST_VIDEO_FORMAT_INFO_W_SUB(format, c));
    plane.shift_y = static_cast<int>(GST_VIDEO_FORMAT_INFO_H_SUB(format, c));
    if (c < 3) plane.component[GST_VIDEO_FORMAT_INFO_POFFSET(format, c)] = static_cast<int>(c);
    canvas.align_x = std::max(canvas.align_x, 1 << plane.shift_x);
    canvas.align_y = std::max(canvas.align_y, 1 << plane.shift_y);
  }
  return canvas;
}

/// The colour as that plane's channels hold it; opaque in alpha and padding.
cv::Vec4b paint_for(const Canvas& canvas, const Plane& plane, Rgb color) {
  std::array<double, 3> value{color.r / 255.0, color.g / 255.0, color.b / 255.0};
  if (canvas.yuv) {
    const auto [r, g, b] = value;
    const double y = canvas.kr * r + (1 - canvas.kr - canvas.kb) * g + canvas.kb * b;
    value = {y, (b - y) / (2 * (1 - canvas.kb)), (r - y) / (2 * (1 - canvas.kr))};
  }
  cv::Vec4b paint = cv::Vec4b::all(255);
  for (int channel = 0; channel < 4; ++channel) {
    const int c = plane.component[channel];
    if (c >= 0)
      paint[channel] = cv::saturate_cast<uint8_t>(canvas.offset[c] + canvas.scale[c] * value[c]);
  }
  return paint;
}

/// The pixels of a subsampled plane under a rectangle of the frame, those shared included.
cv::Rect under(const cv::Rect& r, const Plane& plane) {
  const auto up = [](int v, int shift) { return (v + (1 << shift) - 1) >> shift; };
  const cv::Point first(r.x >> plane.shift_x, r.y >> plane.shift_y);
  const cv::Point last(up(r.x + r.width, plane.shift_x), up(r.y + r.height, plane.shift_y));
  return cv::Rect(first, last) & cv::Rect({0, 0}, plane.pixels.size());
}

void fill(Canvas& canvas, cv::Rect rect, Rgb color) {
  rect &= canvas.bounds();
  if (rect.empty()) return;
  for (Plane& plane : canvas.planes)
    plane.pixels(under(rect, plane)).setTo(cv::Scalar(paint_for(canvas, plane, color)));
}

/// Grows a rectangle to whole chroma pixels; it may leave the frame by less than one.
cv::Rect aligned(const Canvas& canvas, const cv::Rect& r) {
  const int dx = canvas.align_x, dy = canvas.align_y;
  const cv::Point end((r.x + r.width + dx - 1) & -dx, (r.y + r.height + dy - 1) & -dy);
  return {cv::Point(r.x & -dx, r.y & -dy), end};
}

void blend(cv::Mat pixels, const cv::Mat& coverage, cv::Vec4b paint) {
  const int channels = pixels.channels();
  for (int y = 0; y < pixels.rows; ++y) {
    uint8_t* pixel = pixels.ptr(y);
    const uint8_t* cover = coverage.ptr(y);
    for (int x = 0; x < pixels.cols; ++x, pixel += channels)
      for (int c = 0; c < channels && cover[x] != 0; ++c)
        pixel[c] = uint8_t((pixel[c] * (255 - cover[x]) + paint[c] * cover[x] + 127) / 255);
  }
}

cv::Mat cleared(cv::Mat& scratch, cv::Size size) {
  if (scratch.rows < size.height || scratch.cols < size.width)
    scratch.create(std::max(scratch.rows, size.height), std::max(scratch.cols, size.width), CV_8U);
  return scratch(cv::Rect({0, 0}, size)).setTo(0);
}

/// Blends a colour where the mask covers the frame. Subsampled pixels get the mean coverage of
/// those they stand for, times a gain. @pre `at` is aligned, the mask of its size.
void blend(Canvas& canvas, const cv::Rect& at, const cv::Mat& mask, cv::Mat& coarse, Rgb color,
           double gain = 1) {
  for (Plane& plane : canvas.planes) {
    const cv::Rect part = under(at, plane);
    cv::Mat cover = mask;
    if (plane.shift_x != 0 || plane.shift_y != 0) {
      cover = cleared(coarse, {at.width >> plane.shift_x, at.height >> plane.shift_y});
      cv::resize(mask, cover, cover.size(), 0, 0, cv::INTER_AREA);
      cover *= gain;
    }
    blend(plane.pixels(part), cover, paint_for(canvas, plane, color));
  }
}

/// The part of a line within a margin of the frame, in fixed point from the margin's corner on.
bool clip_line(const Canvas& canvas, int margin, cv::Point2d a, cv::Point2d b,
               std::array<cv::Point2l, 2>& out) {
  const auto fixed = [&](double v) { return std::llround((v + margin) * (1 << kShift)); };
  const auto size = [&](int v) { return int64_t{v + 2 * margin} << kShift; };
  out = {cv::Point2l(fixed(a.x), fixed(a.y)), cv::Point2l(fixed(b.x), fixed(b.y))};
  return cv::clipLine(cv::Size2l(size(canvas.width), size(canvas.height)), out[0], out[1]);
}

void draw_slanted(Canvas& canvas, cv::Point2d a, cv::Point2d b, Rgb color, int thickness,
                  cv::Mat& scratch, cv::Mat& coarse) {
  const int margin = thickness + 2;
  std::array<cv::Point2l, 2> line;
  if (!clip_line(canvas, margin, a, b, line)) return;
  const auto pixel = [&](int64_t v) { return static_cast<int>(v >> kShift) - margin; };
  const auto [left, right] = std::minmax({pixel(line[0].x), pixel(line[1].x)});
  const auto [top, bottom] = std::minmax({pixel(line[0].y), pixel(line[1].y)});
  const cv::Rect touched(cv::Point(left - margin, top - margin),
                         cv::Point(right + margin + 1, bottom + margin + 1));
  const cv::Rect at = aligned(canvas, touched & canvas.bounds());
  if (at.empty()) return;
  cv::Mat mask = cleared(scratch, at.size());
  // A whole number is a pixel's centre to OpenCV, and its edge to a box.
  const auto local = [&](int64_t v, int origin) {
    return static_cast<int>(v - (int64_t{origin + margin} << kShift) - (1 << (kShift - 1)));
  };
  cv::line(mask, {local(line[0].x, at.x), local(line[0].y, at.y)},
           {local(line[1].x, at.x), local(line[1].y, at.y)}, cv::Scalar(255), thickness,
           cv::LINE_AA, kShift);
  blend(canvas, at, mask, coarse, color, 2);  // by the mean alone, thin lines would look grey
}

void draw_outline(Canvas& canvas, const Outline& outline, Rgb color, int thickness,
                  cv::Mat& scratch, cv::Mat& coarse) {
  if (outline.upright()) {
    for (const cv::Rect& edge : outline.edges(thickness)) fill(canvas, edge, color);
    return;
  }
  const auto c = outline.corners(thickness / 2.0);
  for (size_t i = 0; i < c.size(); ++i)
    draw_slanted(canvas, c[i], c[(i + 1) % c.size()], color, thickness, scratch, coarse);
}

/// The room that a text leaves about itself on its tab.
int padding(int height) { return std::max(1, cvRound(height * 0.25)); }

cv::Size tab_size(const Letters& letters, const std::string& text) {
  if (text.empty()) return {};
  const cv::Size size = letters.size(text);
  const int pad = padding(size.height);
  return {size.width + 2 * pad, size.height + letters.below() / 2 + 2 * pad};
}

void draw_caption(Canvas& canvas, const Mark& mark, const cv::Rect& tab, Letters& letters,
                  cv::Mat& scratch, cv::Mat& coarse) {
  fill(canvas, tab, mark.color);
  const cv::Rect at = aligned(canvas, tab);
  const int height = letters.size(mark.text).height, pad = padding(height);
  cv::Mat mask = cleared(scratch, at.size());
  letters.write(mask, mark.text, tab.tl() - at.tl() + cv::Point(pad, pad + height));
  blend(canvas, at, mask, coarse, text_color(mark.color));
}

}  // namespace

Pen pen_for(Size frame) {
  const double side = std::min(frame.width, frame.height);
  // Small frames need letters that are large for them, or none could be read.
  return {.thickness = std::max(1, cvRound(side / 300)), .font_scale = 0.27 + side / 1900};
}

Status Painter::paint(GstVideoFrame& frame, std::span<const Mark> marks, Pen pen) try {
  Canvas canvas = canvas_of(frame);
  placer_.start(canvas.bounds().size(), pen.thickness, pen.placement);
  letters_.resize(pen.font_scale);
  items_.clear();
  left_out_ = 0;
  for (const Mark& mark : marks) {
    const std::optional<Outline> outline = outline_of(mark.box, mark.angle);
    if (!outline || (outline->extent & canvas.bounds()).empty()) continue;
    const cv::Size size = tab_size(letters_, mark.text);
    items_.push_back({&mark, *outline, placer_.place(*outline, size)});
    left_out_ += !size.empty() && !items_.back().tab;
  }
  for (const Item& item : items_ | std::views::reverse)
    draw_outline(canvas, item.outline, item.mark->color, pen.thickness, mask_, coarse_);
  for (const Item& item : items_ | std::views::reverse)
    if (item.tab) draw_caption(canvas, *item.mark, *item.tab, letters_, mask_, coarse_);
  return {};
} catch (const std::exception& error) {
  return fail(ErrorKind::kUnsupported, "a frame that OpenCV can draw on", error.what());
}

}  // namespace keepbox
