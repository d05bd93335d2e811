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

// Far apart in OKLab among the colours that are neither dark, pale nor grey.
constexpr uint32_t kPalette[] = {
    0xa56900, 0x00ff00, 0x0069ff, 0xe100ff, 0x00875a, 0x5af0ff, 0xffc300, 0xffb4ff,
    0x965aa5, 0xff3c3c, 0x78a5f0, 0x872dff, 0xff0fa5, 0x78d278, 0xff9687, 0xc378ff,
    0x1e78b4, 0xb44b5a, 0xc3ff5a, 0x879600, 0xe178b4, 0x00b400, 0x00b4c3, 0xc31eb4,
    0x00ffc3, 0x7869e1, 0xff69f0, 0xd2961e, 0xd20069, 0xe1690f, 0x00b487, 0xc3d22d};
// FNV's basis, moved on to where common labels (person, car, dog, ...) get colours far apart.
constexpr uint32_t kHashBasis = 2166167479u;

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr int kShift = 8;         // fractional bits of slanted lines
constexpr float kFar = 1 << 20;   // pixels; beyond every frame, and safe in fixed point

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

/// Corners in order and near enough for fixed point; nothing when a number is not finite.
std::optional<Box> sane(const Mark& mark) {
  const Box& b = mark.box;
  if (!std::isfinite(double{b.x1} + b.y1 + b.x2 + b.y2 + mark.angle)) return std::nullopt;
  const auto near = [](float v) { return std::clamp(v, -kFar, kFar); };
  const auto [x1, x2] = std::minmax({near(b.x1), near(b.x2)});
  const auto [y1, y2] = std::minmax({near(b.y1), near(b.y2)});
  return Box{x1, y1, x2, y2};
}

/// Whole pixels of an upright box, at least one; edges round as GstAnalyticsODMtd's do.
cv::Rect pixels_of(const Box& b) {
  const auto edge = [](float v) { return cvFloor(v + 0.5f); };
  const int x = edge(b.x1), y = edge(b.y1);
  return {x, y, std::max(edge(b.x2) - x, 1), std::max(edge(b.y2) - y, 1)};
}

using Corners = std::array<cv::Point2d, 4>;

/// The corners of a turned box, moved inwards.
Corners corners_of(const Box& b, double angle, double inset) {
  const cv::Point2d first(b.x1, b.y1), last(b.x2, b.y2), center = (first + last) / 2;
  const cv::Point2d half = (last - first) / 2, along(std::cos(angle), std::sin(angle));
  const cv::Point2d across = along * std::max(half.x - inset, 0.0);
  const cv::Point2d deep = cv::Point2d(-along.y, along.x) * std::max(half.y - inset, 0.0);
  return {center - across - deep, center + across - deep, center + across + deep,
          center - across + deep};
}

/// The pixels around a box.
cv::Rect extent_of(const Box& box, float angle) {
  if (angle == 0) return pixels_of(box);
  const Corners corners = corners_of(box, angle, 0);
  const auto [left, right] = std::ranges::minmax(corners, {}, &cv::Point2d::x);
  const auto [top, bottom] = std::ranges::minmax(corners, {}, &cv::Point2d::y);
  const int x = cvFloor(left.x), y = cvFloor(top.y);
  return {x, y, cvCeil(right.x) - x, cvCeil(bottom.y) - y};
}

void draw_upright(Canvas& canvas, const cv::Rect& box, Rgb color, int thickness) {
  const int dx = std::min(thickness, box.width), dy = std::min(thickness, box.height);
  fill(canvas, {box.x, box.y, box.width, dy}, color);
  fill(canvas, {box.x, box.y + box.height - dy, box.width, dy}, color);
  fill(canvas, {box.x, box.y, dx, box.height}, color);
  fill(canvas, {box.x + box.width - dx, box.y, dx, box.height}, color);
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

/// A tab of that size above the box, inside it where there is no room, and always in the frame.
cv::Rect tab_for(const Canvas& canvas, const Box& box, float angle, cv::Size size) {
  cv::Point at = extent_of(box, angle).tl();
  if (angle != 0) {
    const auto top = std::ranges::min(corners_of(box, angle, 0), {}, &cv::Point2d::y);
    at.x = static_cast<int>(top.x) - size.width / 2;
  }
  if (at.y >= size.height) at.y -= size.height;
  at.x = std::max(std::min(at.x, canvas.width - size.width), 0);
  at.y = std::max(std::min(at.y, canvas.height - size.height), 0);
  return {at, size};
}

void draw_caption(Canvas& canvas, const Mark& mark, const Box& box, double scale,
                  cv::Mat& scratch, cv::Mat& coarse) {
  const int stroke = std::max(1, cvRound(scale * 2));
  int below = 0;
  const cv::Size size = cv::getTextSize(mark.text, kFont, scale, stroke, &below);
  const int pad = std::max(1, cvRound(size.height * 0.25));
  const cv::Rect tab = tab_for(canvas, box, mark.angle,
                               {size.width + 2 * pad, size.height + below / 2 + 2 * pad});
  fill(canvas, tab, mark.color);
  const cv::Rect at = aligned(canvas, tab & canvas.bounds());
  const cv::Point origin = tab.tl() - at.tl() + cv::Point(pad, pad + size.height);
  cv::Mat mask = cleared(scratch, at.size());
  cv::putText(mask, mark.text, origin, kFont, scale, cv::Scalar(255), stroke, cv::LINE_AA);
  blend(canvas, at, mask, coarse, text_color(mark.color));
}

}  // namespace

Rgb class_color(std::string_view label) {
  uint32_t hash = kHashBasis;
  for (const char c : label) hash = (hash ^ static_cast<uint8_t>(c)) * 0x01000193u;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;  // FNV's low bits alone are poor
  hash ^= hash >> 13;
  const uint32_t rgb = kPalette[hash % std::size(kPalette)];
  return {uint8_t(rgb >> 16), uint8_t(rgb >> 8), uint8_t(rgb)};
}

Rgb text_color(Rgb background) {
  const auto linear = [](uint8_t v) { return std::pow(v / 255.0, 2.2); };
  const auto [r, g, b] = background;
  const double luminance = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  return luminance > 0.179 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};  // where both contrast alike
}

Pen pen_for(Size frame) {
  const double side = std::min(frame.width, frame.height);
  // Small frames need letters that are large for them, or none could be read.
  return {.thickness = std::max(1, cvRound(side / 300)), .font_scale = 0.27 + side / 1900};
}

Status Painter::paint(GstVideoFrame& frame, std::span<const Mark> marks, Pen pen) try {
  Canvas canvas = canvas_of(frame);
  const auto draw_all = [&](auto draw) {
    for (const Mark& mark : marks | std::views::reverse)
      if (const std::optional<Box> box = sane(mark);
          box && !(extent_of(*box, mark.angle) & canvas.bounds()).empty())
        draw(mark, *box);
  };
  draw_all([&](const Mark& mark, const Box& box) {
    if (mark.angle == 0) return draw_upright(canvas, pixels_of(box), mark.color, pen.thickness);
    const Corners c = corners_of(box, mark.angle, pen.thickness / 2.0);
    for (size_t i = 0; i < c.size(); ++i)
      draw_slanted(canvas, c[i], c[(i + 1) % c.size()], mark.color, pen.thickness, mask_, coarse_);
  });
  draw_all([&](const Mark& mark, const Box& box) {
    if (!mark.text.empty()) draw_caption(canvas, mark, box, pen.font_scale, mask_, coarse_);
  });
  return {};
} catch (const std::exception& error) {
  return fail(ErrorKind::kUnsupported, "a frame that OpenCV can draw on", error.what());
}

}  // namespace keepbox
