// SPDX-License-Identifier: LGPL-2.1-or-later
// Selects what is drawn of boxes, and its order.
#include "gst/overlay/paint.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <ranges>

#include "core/formula/mask.h"
#include "gst/overlay/obscure.h"

namespace keepbox {

/// Tints the object's pixels translucently, with an opaque edge. The edge is inside the object, and
/// omitted where the frame ends. Unreadable masks are skipped.
/// @param edge width in pixels, at least 1.
void draw_silhouette(Canvas& canvas, const FrameMask& mask, Rgb color, int edge,
                     PaintScratch& scratch);

struct SkeletonPen {
  int thickness = 1;      // of lines, in pixels; less if keypoints are close to each other
  float threshold = 0.5;  // minimum score of drawn keypoints
};

/// Draws keypoints and the lines between them. A line needs both of its ends; keypoints that are
/// not finite are skipped.
void draw_skeleton(Canvas& canvas, const FrameKeypoints& keypoints, Rgb color, SkeletonPen pen,
                   Strokes& strokes, PaintScratch& scratch);

namespace {

void draw_outline(Canvas& canvas, const Outline& outline, Rgb color, int thickness,
                  Strokes& strokes, PaintScratch& scratch) {
  if (outline.upright()) {
    for (const cv::Rect& edge : outline.edges(thickness)) canvas.fill(edge, color);
    return;
  }
  const auto c = outline.corners(thickness / 2.0);
  strokes.start(canvas.bounds().size());
  for (size_t i = 0; i < c.size(); ++i) strokes.line(c[i], c[(i + 1) % c.size()], thickness);
  strokes.draw(canvas, color, scratch);
}

void draw_trail(Canvas& canvas, std::span<const TrailPoint> trail, Rgb color, int thickness,
                Strokes& strokes, PaintScratch& scratch) {
  if (trail.size() < 2) return;
  const auto at = [](const TrailPoint& p) { return cv::Point2d(p.x, p.y); };
  strokes.start(canvas.bounds().size());
  for (size_t i = 1; i < trail.size(); ++i) strokes.line(at(trail[i - 1]), at(trail[i]), thickness);
  strokes.draw(canvas, color, scratch);
}

/// Returns the padding between a line and its tab, for capitals of that height.
int padding(int height) { return std::max(1, cvRound(height * 0.25)); }

}  // namespace

Pen pen_for(Size frame) {
  const double side = std::min(frame.width, frame.height);
  // Small frames need relatively large letters to stay readable.
  return {.thickness = std::max(1, cvRound(side / 300)), .font_scale = 0.27 + side / 1900};
}

/// Lines have one height, unless letters are so high or low that they would leave the padding.
Painter::Line Painter::line_of(std::span<const std::string> caption) {
  const int height = letters_.capitals(), inside = padding(height);
  Line line{.first = texts_.size(), .above = height, .below = (height + 2) / 4};
  if (!has_font_) return line;
  const int space = letters_.of(" ").extent.width;
  for (const std::string& text : caption) {
    const Lettering& lettering = letters_.of(text);
    const auto& [width, ink] = lettering.extent;
    if (line.count++ > 0) line.width += space;
    line.ink |= ink + cv::Point(line.width, 0);
    line.width += width;
    texts_.push_back(&lettering);
  }
  line.above = std::max(line.above, -line.ink.y - inside);
  line.below = std::max(line.below, line.ink.br().y - inside);
  return line;
}

cv::Size Painter::tab_size(const Line& line) const {
  if (line.count == 0) return {};
  const int pad = padding(letters_.capitals());
  return {line.width + 2 * pad, line.above + line.below + 2 * pad};
}

void Painter::draw_caption(Canvas& canvas, const cv::Rect& tab, const Line& line, Rgb color) {
  canvas.fill(tab, color);
  const int pad = padding(letters_.capitals()), space = letters_.of(" ").extent.width;
  cv::Point start = tab.tl() + cv::Point(pad, pad + line.above);
  const cv::Rect drawn = (line.ink + start) & tab;
  if (drawn.empty()) return;
  const cv::Rect at = canvas.aligned(drawn);
  cv::Mat mask = cleared(scratch_.cover, at.size());
  start -= at.tl();
  for (const Lettering* text : std::span(texts_).subspan(line.first, line.count)) {
    letters_.write(mask, *text, start);
    start.x += text->extent.width + space;
  }
  canvas.blend(at, mask, scratch_.coarse, text_color(color));
}

void Painter::draw_items(Canvas& canvas, const Pen& pen) {
  const auto worst_first = items_ | std::views::reverse;
  for (const auto& [mark, outline, line, tab] : worst_first)
    draw_silhouette(canvas, mark->mask, mark->color, (2 * pen.thickness + 2) / 3, scratch_);
  for (const auto& [mark, outline, line, tab] : worst_first)
    draw_trail(canvas, mark->trail, mark->color, pen.thickness, strokes_, scratch_);
  for (const auto& [mark, outline, line, tab] : worst_first)
    if (pen.outlines && mark->outlined)
      draw_outline(canvas, outline, mark->color, pen.thickness, strokes_, scratch_);
  for (const auto& [mark, outline, line, tab] : worst_first)
    draw_skeleton(canvas, mark->keypoints, mark->color, {pen.thickness, pen.keypoint_threshold},
                  strokes_, scratch_);
}

void Painter::draw_captions(Canvas& canvas) {
  for (const auto& [mark, outline, line, tab] : items_ | std::views::reverse)
    if (tab) draw_caption(canvas, *tab, line, mark->color);
  for (const auto& [at, line, color] : count_tabs_) draw_caption(canvas, at, line, color);
}

namespace {

/// Returns the length of an arrow on each side of a line.
double reach_of(const Pen& pen) { return std::max(8.0, 45 * pen.font_scale); }

/// Draws lines with edges of the other brightness, so that they can be seen on any picture.
template <class Add>
void draw_cased(Canvas& canvas, Rgb color, int thickness, Strokes& strokes, PaintScratch& scratch,
                Add add) {
  for (const bool edge : {true, false}) {
    strokes.start(canvas.bounds().size());
    add(edge ? thickness + std::max(2, thickness) : thickness);
    strokes.draw(canvas, edge ? text_color(color) : color, scratch);
  }
}

void draw_zone(Canvas& canvas, const CountMark& zone, int thickness, Strokes& strokes,
               PaintScratch& scratch) {
  fill_zone(canvas, zone, scratch);
  const auto& points = zone.points;
  draw_cased(canvas, zone.color, thickness, strokes, scratch, [&](int wide) {
    for (size_t i = 0; i < points.size(); ++i)
      strokes.line(points[i], points[(i + 1) % points.size()], wide);
  });
}

void draw_line(Canvas& canvas, const CountMark& line, const Pen& pen, Strokes& strokes,
               PaintScratch& scratch) {
  const auto arrows = arrows_of(line, canvas.bounds().size(), reach_of(pen));
  if (!arrows) return;
  const int thickness = pen.thickness + 1;
  const cv::Point2d across = arrows->across, along(-across.y, across.x);
  const double barb = reach_of(pen) / 3;
  draw_cased(canvas, line.color, thickness, strokes, scratch, [&](int wide) {
    strokes.line(line.points[0], line.points[1], wide);
    for (const cv::Point2d end : line.points) strokes.dot(end, wide);
    for (const auto& [tail, head] : arrows->ways) {
      const cv::Point2d back = (tail - head) * (barb / cv::norm(tail - head));
      strokes.line(tail, head, wide);
      for (const cv::Point2d side : {along, -along})
        strokes.line(head, head + back + side * barb, wide);
    }
  });
}

}  // namespace

/// Takes the first of the places that is free, or else the first one.
void Painter::add_tab(std::span<const std::string> caption, Rgb color, cv::Size frame,
                      std::span<const TabPlace> places) {
  const Line line = line_of(caption);
  const cv::Size size = tab_size(line);
  if (size.empty() || places.empty()) return;
  cv::Rect at = tab_at(places.front(), size, frame);
  for (const TabPlace& place : places) {
    const cv::Rect tab = tab_at(place, size, frame);
    if (!placer_.keep(tab)) continue;
    at = tab;
    break;
  }
  count_tabs_.push_back({at, line, color});
}

void Painter::place_line(const CountMark& line, cv::Size frame, const Pen& pen) {
  const auto arrows = arrows_of(line, frame, reach_of(pen));
  if (!arrows) return;
  const double gap = 2.0 * pen.thickness + 2;
  const cv::Point2d along(-arrows->across.y, arrows->across.x);
  for (size_t i = 0; i < arrows->ways.size(); ++i) {
    const cv::Point2d way = i == 0 ? arrows->across : -arrows->across;
    const TabPlace place[] = {{arrows->ways[i].head + way * gap, way}};
    add_tab(line.ways[i], line.color, frame, place);
  }
  const TabPlace beyond_ends[] = {{arrows->ends[0] - along * gap, -along},
                                  {arrows->ends[1] + along * gap, along}};
  add_tab(line.caption, line.color, frame, beyond_ends);
}

void Painter::place_zone(const CountMark& zone, cv::Size frame) {
  add_tab(zone.caption, zone.color, frame, tab_places(zone, frame));
}

void Painter::draw_zones(Canvas& canvas, std::span<const CountMark> counts, const Pen& pen) {
  for (const CountMark& mark : counts)
    if (!mark.is_line) draw_zone(canvas, mark, pen.thickness, strokes_, scratch_);
}

void Painter::draw_lines(Canvas& canvas, std::span<const CountMark> counts, const Pen& pen) {
  for (const CountMark& mark : counts)
    if (mark.is_line) draw_line(canvas, mark, pen, strokes_, scratch_);
}

Status Painter::paint(Canvas& canvas, std::span<const Mark> marks, Pen pen,
                      std::span<const CountMark> counts) try {
  placer_.start(canvas.bounds().size(), pen.thickness, pen.placement);
  // A caption is rarely wider: the parts after its class remain visible.
  const Status font = letters_.start(pen.font_scale, canvas.bounds().width * 3 / 4);
  has_font_ = font.has_value();
  texts_.clear();
  items_.clear();
  count_tabs_.clear();
  left_out_ = 0;
  const cv::Size frame = canvas.bounds().size();
  for (const CountMark& mark : counts)
    mark.is_line ? place_line(mark, frame, pen) : place_zone(mark, frame);
  for (const Mark& mark : marks) {
    const std::optional<Outline> outline = outline_of(mark.box, mark.angle);
    if (!outline || (outline->extent & canvas.bounds()).empty()) continue;
    const Line line = line_of(mark.caption);
    const cv::Size size = tab_size(line);
    items_.push_back({&mark, *outline, line, placer_.place(*outline, size)});
    left_out_ += !size.empty() && !items_.back().tab;
  }
  draw_zones(canvas, counts, pen);
  draw_items(canvas, pen);
  draw_lines(canvas, counts, pen);
  draw_captions(canvas);
  return font;
} catch (const std::exception& error) {
  return reject(ErrorKind::kUnsupported,
                std::string("OpenCV cannot draw on the frame: ") + error.what());
}

namespace {

constexpr int kShift = 8;  // fractional bits
constexpr int kOne = 1 << kShift;
constexpr double kFarthest = 1 << 21;  // pixels; beyond every frame, and safe in fixed point

cv::Point2l fixed(cv::Point2d p) {
  const auto near = [](double v) { return std::clamp(v, -kFarthest, kFarthest); };
  return {std::llround(near(p.x) * kOne), std::llround(near(p.y) * kOne)};
}

int pixel(int64_t v) { return static_cast<int>(v >> kShift); }

}  // namespace

void Strokes::start(cv::Size frame) {
  frame_ = frame;
  lines_.clear();
  dots_.clear();
  touched_ = {};
}

void Strokes::touch(cv::Point2l at, int margin) {
  const cv::Point center(pixel(at.x), pixel(at.y)), reach(margin, margin);
  touched_ |= cv::Rect(center - reach, center + reach + cv::Point(1, 1));
}

void Strokes::line(cv::Point2d from, cv::Point2d to, int thickness) {
  // Fixed point covers only the vicinity of the frame.
  const int margin = thickness + 2;
  const cv::Point2d corner(margin, margin);
  cv::Point2l a = fixed(from + corner), b = fixed(to + corner);
  const auto size = [&](int v) { return int64_t{v + 2 * margin} << kShift; };
  if (!cv::clipLine(cv::Size2l(size(frame_.width), size(frame_.height)), a, b)) return;
  const cv::Point2l back = fixed(corner);
  lines_.push_back({a - back, b - back, thickness});
  touch(a - back, margin);
  touch(b - back, margin);
}

void Strokes::dot(cv::Point2d center, double radius) {
  const int margin = cvCeil(radius) + 2;
  const cv::Rect2d near(-margin, -margin, frame_.width + 2 * margin, frame_.height + 2 * margin);
  if (!near.contains(center)) return;
  dots_.push_back({fixed(center), cvRound(radius * kOne)});
  touch(dots_.back().center, margin);
}

void Strokes::draw(Canvas& canvas, Rgb color, PaintScratch& scratch) const {
  const cv::Rect at = canvas.aligned(touched_ & canvas.bounds());
  if (at.empty()) return;
  cv::Mat mask = cleared(scratch.cover, at.size());
  // Integers are pixel centres in OpenCV, but pixel edges in boxes.
  const cv::Point2l origin(int64_t{at.x} * kOne + kOne / 2, int64_t{at.y} * kOne + kOne / 2);
  const cv::Scalar full(255);
  for (const Line& line : lines_)
    cv::line(mask, cv::Point(line.from - origin), cv::Point(line.to - origin), full, line.thickness,
             cv::LINE_AA, kShift);
  for (const Dot& dot : dots_)
    cv::circle(mask, cv::Point(dot.center - origin), dot.radius, full, cv::FILLED, cv::LINE_AA,
               kShift);
  canvas.blend(at, mask, scratch.coarse, color, 2);  // the gain keeps thin lines from looking grey
}

namespace {

/// Removes the outer pixels of an object; alternating crosses and squares are nearly a disc, and
/// faster.
void erode(const cv::Mat& object, cv::Mat& inner, int pixels) {
  // ISOLATED keeps older drawings next to this part of the memory out.
  constexpr int kBorder = cv::BORDER_CONSTANT | cv::BORDER_ISOLATED;
  static const cv::Mat cross = cv::getStructuringElement(cv::MORPH_CROSS, {3, 3});
  cv::erode(object, inner, cross, {-1, -1}, 1, kBorder);
  for (int i = 1; i < pixels; ++i)
    cv::erode(inner, inner, i % 2 == 1 ? cv::Mat() : cross, {-1, -1}, 1, kBorder);
}

/// Smooths with 1/4, 1/2, 1/4 in both directions. GaussianBlur() has the same values, but wakes all
/// threads of OpenCV's pool for each mask, and these wait busily.
void smooth_cover(cv::Mat& cover) {
  static const cv::Mat kernel = (cv::Mat_<float>(3, 1) << 0.25f, 0.5f, 0.25f);
  cv::sepFilter2D(cover, cover, CV_8U, kernel, kernel, {-1, -1}, 0,
                  cv::BORDER_REPLICATE | cv::BORDER_ISOLATED);
}

}  // namespace

void draw_silhouette(Canvas& canvas, const FrameMask& mask, Rgb color, int edge,
                     PaintScratch& scratch) {
  if (canvas.tint(mask, color, edge)) return;
  const cv::Rect at = cover_object(canvas, mask, kSmoothingMargin, scratch);
  if (at.empty()) return;
  cv::Mat cover = scratch.cover(cv::Rect({0, 0}, at.size()));
  cv::Mat inner = cleared(scratch.other, at.size());
  erode(cover, inner, std::min(edge, kWidestEdge));
  cv::bitwise_and(inner, cv::Scalar(255 - kTintCover), inner);
  cv::subtract(cover, inner, cover);
  if (edge > 1) smooth_cover(cover);
  canvas.blend(at, cover, scratch.coarse, color);
}

namespace {

constexpr double kDotPerSpacing = 0.3;  // radius of a dot, relative to the space between keypoints
constexpr double kCore = 0.55;          // part of the radius in the contrasting colour
constexpr double kMinRimRadius = 3;     // minimum radius in pixels of a dot with two colours

bool is_shown(const Keypoint& p, float threshold) {
  return p.score >= threshold && std::isfinite(p.x) && std::isfinite(p.y);
}

/// Returns about half of the distance between neighbours if they were spread evenly.
double spacing_of(const FrameKeypoints& keypoints, float threshold) {
  double left = std::numeric_limits<double>::infinity(), top = left, right = -left, bottom = -left;
  int count = 0;
  for (const Keypoint& p : keypoints.points) {
    if (!is_shown(p, threshold)) continue;
    ++count;
    left = std::min(left, double{p.x}), right = std::max(right, double{p.x});
    top = std::min(top, double{p.y}), bottom = std::max(bottom, double{p.y});
  }
  return count < 2 ? left : std::max(right - left, bottom - top) / std::sqrt(count) / 2;
}

}  // namespace

void draw_skeleton(Canvas& canvas, const FrameKeypoints& keypoints, Rgb color, SkeletonPen pen,
                   Strokes& strokes, PaintScratch& scratch) {
  const double room = spacing_of(keypoints, pen.threshold);
  const double radius = std::clamp(room * kDotPerSpacing, 1.0, 0.75 + 1.25 * pen.thickness);
  const int thickness = std::clamp(cvRound(radius), 1, pen.thickness);
  const auto at = [](const Keypoint& p) { return cv::Point2d(p.x, p.y); };
  strokes.start(canvas.bounds().size());
  for (const Edge& edge : keypoints.edges) {
    if (std::max(edge.from, edge.to) >= keypoints.points.size()) continue;
    const Keypoint &a = keypoints.points[edge.from], &b = keypoints.points[edge.to];
    if (is_shown(a, pen.threshold) && is_shown(b, pen.threshold))
      strokes.line(at(a), at(b), thickness);
  }
  const auto dots = [&](double size) {
    for (const Keypoint& p : keypoints.points)
      if (is_shown(p, pen.threshold)) strokes.dot(at(p), size);
  };
  dots(radius);
  strokes.draw(canvas, color, scratch);
  if (radius < kMinRimRadius) return;
  strokes.start(canvas.bounds().size());
  dots(radius * kCore);
  strokes.draw(canvas, text_color(color), scratch);
}

}  // namespace keepbox
