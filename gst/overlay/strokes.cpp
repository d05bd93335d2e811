// SPDX-License-Identifier: LGPL-2.1-or-later
// OpenCV draws on a mask, which is then blended into the planes.
#include "gst/overlay/strokes.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace keepbox {
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

}  // namespace keepbox
