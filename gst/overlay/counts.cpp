// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines and zones with their counts, as they are drawn.
#include "gst/overlay/counts.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <format>
#include <optional>
#include <utility>

namespace keepbox {
namespace {

// Far from the first colours, which most boxes have. Lines and zones take one row of colours, so
// that neighbours differ.
constexpr size_t kFirstColor = 27;

Rgb color_of(size_t number) { return palette()[(number + kFirstColor) % palette().size()]; }

bool is_finite(const CountMark& mark) {
  return std::ranges::all_of(
      mark.points, [](cv::Point2d p) { return std::isfinite(p.x) && std::isfinite(p.y); });
}

cv::Point2d point_of(Corner p, float by) { return cv::Point2d(p.x, p.y) * double{by}; }

CountMark mark_of(const LineCount& line, float by) {
  CountMark out{.points = {point_of(line.points[0], by), point_of(line.points[1], by)},
                .is_line = true,
                .caption = {line.name}};
  for (size_t way = 0; way < out.ways.size(); ++way) {
    out.ways[way] = {line.directions[way], std::to_string(line.crossed[way])};
    if (line.uncertain[way] != 0) out.ways[way].push_back(std::format("+{}?", line.uncertain[way]));
  }
  return out;
}

CountMark mark_of(const ZoneCount& zone, float by) {
  CountMark out{.points = {},
                .caption = {zone.name, std::format("{} now", zone.now())},
                .crowded = zone.crowded};
  for (const Corner corner : zone.corners) out.points.push_back(point_of(corner, by));
  return out;
}

std::string text_of(GstClockTime time) {
  const guint64 seconds = time / GST_SECOND, minutes = seconds / 60;
  if (minutes == 0) return std::format("{} s", seconds);
  if (minutes < 60) return std::format("{}:{:02} min", minutes, seconds % 60);
  return std::format("{}:{:02} h", minutes / 60, minutes % 60);
}

}  // namespace

std::vector<CountMark> marks_of(const FrameCounts& counts, float by) {
  std::vector<CountMark> out;
  for (const LineCount& line : counts.lines) out.push_back(mark_of(line, by));
  for (const ZoneCount& zone : counts.zones) out.push_back(mark_of(zone, by));
  for (size_t i = 0; i < out.size(); ++i) out[i].color = color_of(i);
  std::erase_if(out, [](const CountMark& mark) { return !is_finite(mark); });
  return out;
}

std::string dwell_of(const FrameBox& box, const FrameCounts& counts) {
  const auto key = key_of(box);
  std::optional<GstClockTime> longest;
  for (const ZoneCount& zone : counts.zones)
    for (const PresentObject& each : zone.present)
      if (key == each.object) longest = std::max(longest.value_or(0), each.dwell);
  return longest ? text_of(*longest) : std::string();
}

namespace {

/// Keeps the part of a polygon where a distance, linear in the place, is not negative.
template <class Distance>
std::vector<cv::Point2d> kept(const std::vector<cv::Point2d>& corners, Distance distance) {
  std::vector<cv::Point2d> out;
  for (size_t i = 0; i < corners.size(); ++i) {
    const cv::Point2d from = corners[i], to = corners[(i + 1) % corners.size()];
    const double before = distance(from), after = distance(to);
    if (before >= 0) out.push_back(from);
    if ((before >= 0) != (after >= 0))
      out.push_back(from + (to - from) * (before / (before - after)));
  }
  return out;
}

}  // namespace

std::vector<cv::Point2d> clipped(std::vector<cv::Point2d> corners, const cv::Rect2d& to) {
  corners = kept(corners, [&](cv::Point2d p) { return p.x - to.x; });
  corners = kept(corners, [&](cv::Point2d p) { return to.x + to.width - p.x; });
  corners = kept(corners, [&](cv::Point2d p) { return p.y - to.y; });
  return kept(corners, [&](cv::Point2d p) { return to.y + to.height - p.y; });
}

namespace {

/// Returns the part of a segment inside of a rectangle, by Liang and Barsky.
std::optional<std::array<cv::Point2d, 2>> visible(cv::Point2d a, cv::Point2d b, cv::Size frame) {
  const cv::Point2d way = b - a;
  double first = 0, last = 1;
  const auto cut = [&](double step, double room) {  // step * t <= room
    if (step == 0) return room >= 0;
    if (step < 0) first = std::max(first, room / step);
    else last = std::min(last, room / step);
    return first < last;
  };
  if (!cut(-way.x, a.x) || !cut(way.x, frame.width - a.x) || !cut(-way.y, a.y) ||
      !cut(way.y, frame.height - a.y))
    return std::nullopt;
  return std::array{a + way * first, a + way * last};
}

}  // namespace

/// The two arrows are beside each other like lanes.
std::optional<Arrows> arrows_of(const CountMark& line, cv::Size frame, double reach) {
  const cv::Point2d way = line.points[1] - line.points[0];
  const double length = cv::norm(way);
  const auto ends = visible(line.points[0], line.points[1], frame);
  if (length == 0 || !ends) return std::nullopt;
  const cv::Point2d along = way / length, across(along.y, -along.x);
  const cv::Point2d middle = ((*ends)[0] + (*ends)[1]) / 2;
  const cv::Point2d lane = along * std::min(reach / 2, cv::norm((*ends)[1] - (*ends)[0]) / 4);
  const cv::Point2d left = middle - lane, right = middle + lane, step = across * reach;
  return Arrows{.across = across,
                .ways = {{{left - step, left + step}, {right + step, right - step}}},
                .ends = *ends};
}

cv::Rect tab_at(const TabPlace& place, cv::Size tab, cv::Size frame) {
  const auto& [at, way] = place;
  const double half = (std::abs(way.x) * tab.width + std::abs(way.y) * tab.height) / 2;
  const cv::Point2d center = at + way * half;
  const auto inside = [](double from, int length, int limit) {
    return cvRound(std::clamp(from, 0.0, double(std::max(0, limit - length))));
  };
  return {inside(center.x - tab.width / 2.0, tab.width, frame.width),
          inside(center.y - tab.height / 2.0, tab.height, frame.height),
          std::min(tab.width, frame.width), std::min(tab.height, frame.height)};
}

/// Above its upper edge, below its lower edge, and inside.
std::vector<TabPlace> tab_places(const CountMark& zone, cv::Size frame) {
  const auto corners = clipped(zone.points, cv::Rect2d(0, 0, frame.width, frame.height));
  if (corners.size() < 3) return {};
  const auto [top, bottom] = std::ranges::minmax(corners, {}, &cv::Point2d::y);
  const double near = (bottom.y - top.y) / 8;  // slanted edges are edges too
  const auto middle = [&](double y) {
    double left = frame.width, right = 0;
    for (const cv::Point2d p : corners)
      if (std::abs(p.y - y) <= near) left = std::min(left, p.x), right = std::max(right, p.x);
    return (left + right) / 2;
  };
  return {{.at = {middle(top.y), top.y}, .way = {0, -1}},
          {.at = {middle(bottom.y), bottom.y}, .way = {0, 1}},
          {.at = {middle(top.y), top.y}, .way = {0, 1}}};
}

void fill_zone(Canvas& canvas, const CountMark& zone, PaintScratch& scratch) {
  constexpr int kShift = 4;
  constexpr uchar kCover = 60, kCrowded = 120;
  constexpr double kMargin = 2;
  const cv::Rect bounds = canvas.bounds();
  const cv::Rect2d near(-kMargin, -kMargin, bounds.width + 2 * kMargin,
                        bounds.height + 2 * kMargin);
  const std::vector<cv::Point2d> corners = clipped(zone.points, near);
  if (corners.size() < 3) return;
  std::vector<cv::Point2f> floats(corners.begin(), corners.end());
  const cv::Rect at = canvas.aligned(cv::boundingRect(floats) & bounds);
  if (at.empty()) return;
  cv::Mat mask = cleared(scratch.cover, at.size());
  std::vector<cv::Point> fixed;
  for (const cv::Point2d p : corners)  // integers are pixel centres in OpenCV
    fixed.emplace_back(cvRound((p.x - at.x - 0.5) * (1 << kShift)),
                       cvRound((p.y - at.y - 0.5) * (1 << kShift)));
  cv::fillPoly(mask, std::vector{fixed}, cv::Scalar(zone.crowded ? kCrowded : kCover), cv::LINE_8,
               kShift);
  canvas.blend(at, mask, scratch.coarse, zone.color);
}

}  // namespace keepbox
