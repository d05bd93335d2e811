// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws lines in the object's colour, and dots in one that contrasts with it.
#include "gst/overlay/skeleton.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace keepbox {
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
