// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts float boxes to integer pixels.
#include "gst/overlay/outline.h"

#include <algorithm>
#include <cmath>

namespace keepbox {
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
  const cv::Point2d first(box.x1, box.y1), last(box.x2, box.y2), center = (first + last) / 2;
  const cv::Point2d half = (last - first) / 2;
  const cv::Point2d along(std::cos(double{angle}), std::sin(double{angle}));
  const cv::Point2d across = along * std::max(half.x - inset, 0.0);
  const cv::Point2d deep = cv::Point2d(-along.y, along.x) * std::max(half.y - inset, 0.0);
  return {center - across - deep, center + across - deep, center + across + deep,
          center - across + deep};
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

}  // namespace keepbox
