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

/// Returns the padding between a text and its tab.
int padding(int height) { return std::max(1, cvRound(height * 0.25)); }

cv::Size tab_size(const Letters& letters, const std::string& text) {
  if (text.empty()) return {};
  const cv::Size size = letters.size(text);
  const int pad = padding(size.height);
  return {size.width + 2 * pad, size.height + letters.below() / 2 + 2 * pad};
}

void draw_caption(Canvas& canvas, const Mark& mark, const cv::Rect& tab, const Letters& letters,
                  PaintScratch& scratch) {
  canvas.fill(tab, mark.color);
  const cv::Rect at = canvas.aligned(tab);
  const int height = letters.size(mark.text).height, pad = padding(height);
  const cv::Point start = tab.tl() - at.tl() + cv::Point(pad, pad + height);
  canvas.write(at, {&letters, mark.text, start}, text_color(mark.color), scratch);
}

}  // namespace

Pen pen_for(Size frame) {
  const double side = std::min(frame.width, frame.height);
  // Small frames need relatively large letters to stay readable.
  return {.thickness = std::max(1, cvRound(side / 300)), .font_scale = 0.27 + side / 1900};
}

void Painter::draw_items(Canvas& canvas, const Pen& pen) {
  const auto worst_first = items_ | std::views::reverse;
  for (const auto& [mark, outline, tab] : worst_first)
    draw_silhouette(canvas, mark->mask, mark->color, (2 * pen.thickness + 2) / 3, scratch_);
  for (const auto& [mark, outline, tab] : worst_first)
    draw_trail(canvas, mark->trail, mark->color, pen.thickness, strokes_, scratch_);
  for (const auto& [mark, outline, tab] : worst_first)
    if (pen.outlines && mark->outlined)
      draw_outline(canvas, outline, mark->color, pen.thickness, strokes_, scratch_);
  for (const auto& [mark, outline, tab] : worst_first)
    draw_skeleton(canvas, mark->keypoints, mark->color, {pen.thickness, pen.keypoint_threshold},
                  strokes_, scratch_);
  for (const auto& [mark, outline, tab] : worst_first)
    if (tab) draw_caption(canvas, *mark, *tab, letters_, scratch_);
}

Status Painter::paint(Canvas& canvas, std::span<const Mark> marks, Pen pen) try {
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
  draw_items(canvas, pen);
  return {};
} catch (const std::exception& error) {
  return reject(ErrorKind::kUnsupported,
                std::string("OpenCV cannot draw on the frame: ") + error.what());
}

}  // namespace keepbox
