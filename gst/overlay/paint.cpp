// SPDX-License-Identifier: LGPL-2.1-or-later
// Selects what is drawn of boxes, and its order.
#include "gst/overlay/paint.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <ranges>

#include "gst/overlay/silhouette.h"
#include "gst/overlay/skeleton.h"

namespace keepbox {
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
Painter::Line Painter::line_of(const Mark& mark) {
  const int height = letters_.capitals(), inside = padding(height);
  Line line{.first = texts_.size(), .above = height, .below = (height + 2) / 4};
  if (!has_font_) return line;
  const int space = letters_.of(" ").extent.width;
  for (const std::string& text : mark.caption) {
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

void Painter::draw_caption(Canvas& canvas, const Item& item) {
  const cv::Rect& tab = *item.tab;
  canvas.fill(tab, item.mark->color);
  const int pad = padding(letters_.capitals()), space = letters_.of(" ").extent.width;
  cv::Point start = tab.tl() + cv::Point(pad, pad + item.line.above);
  const cv::Rect drawn = (item.line.ink + start) & tab;
  if (drawn.empty()) return;
  const cv::Rect at = canvas.aligned(drawn);
  cv::Mat mask = cleared(scratch_.cover, at.size());
  start -= at.tl();
  for (const Lettering* text : std::span(texts_).subspan(item.line.first, item.line.count)) {
    letters_.write(mask, *text, start);
    start.x += text->extent.width + space;
  }
  canvas.blend(at, mask, scratch_.coarse, text_color(item.mark->color));
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
  for (const Item& item : worst_first)
    if (item.tab) draw_caption(canvas, item);
}

Status Painter::paint(Canvas& canvas, std::span<const Mark> marks, Pen pen) try {
  placer_.start(canvas.bounds().size(), pen.thickness, pen.placement);
  // A caption is rarely wider: the parts after its class remain visible.
  const Status font = letters_.start(pen.font_scale, canvas.bounds().width * 3 / 4);
  has_font_ = font.has_value();
  texts_.clear();
  items_.clear();
  left_out_ = 0;
  for (const Mark& mark : marks) {
    const std::optional<Outline> outline = outline_of(mark.box, mark.angle);
    if (!outline || (outline->extent & canvas.bounds()).empty()) continue;
    const Line line = line_of(mark);
    const cv::Size size = tab_size(line);
    items_.push_back({&mark, *outline, line, placer_.place(*outline, size)});
    left_out_ += !size.empty() && !items_.back().tab;
  }
  draw_items(canvas, pen);
  return font;
} catch (const std::exception& error) {
  return reject(ErrorKind::kUnsupported,
                std::string("OpenCV cannot draw on the frame: ") + error.what());
}

}  // namespace keepbox
