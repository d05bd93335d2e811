// SPDX-License-Identifier: LGPL-2.1-or-later
// Tries several places around a box for its caption and takes the first good one.
#include "gst/overlay/captions.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "gst/base/enums.h"

namespace keepbox {
namespace {

constexpr size_t kPlaces = 18;

struct Span {
  int first, last;
};

/// The sides of a box at which captions attach.
struct AttachSides {
  Span top, bottom, left, right;
};

AttachSides attach_sides_of(const Outline& box, const cv::Rect& seen) {
  const Span across{seen.x, seen.x + seen.width}, down{seen.y, seen.y + seen.height};
  if (box.upright()) return {across, across, down, down};
  // Each side of an oriented box's extent touches the box at a corner only.
  const auto corners = box.corners(0);
  const auto [west, east] = std::ranges::minmax_element(corners, {}, &cv::Point2d::x);
  const auto [north, south] = std::ranges::minmax_element(corners, {}, &cv::Point2d::y);
  const auto point = [](double at) { return Span{cvRound(at), cvRound(at)}; };
  return {point(north->x), point(south->x), point(west->y), point(east->y)};
}

/// The places around a box, best first.
class CaptionPlaces {
 public:
  CaptionPlaces(const Outline& box, const cv::Rect& frame, cv::Size caption)
      : frame_(frame), size_(caption), oriented_(!box.upright()) {
    const cv::Rect seen = box.extent & frame;
    const int high = seen.y, low = seen.y + seen.height;
    const auto [top, bottom, left, right] = attach_sides_of(box, seen);
    // A caption that fills its box would hide the object.
    const bool roomy = !oriented_ && size_.width <= seen.width && 2 * size_.height <= seen.height;
    // If a few pixels are missing, it overlaps the box slightly instead of moving elsewhere.
    const auto nudged = [&](int y) {
      const int inside = std::clamp(y, 0, frame_.height - size_.height);
      return !roomy && 2 * std::abs(inside - y) <= size_.height ? inside : y;
    };
    rows(top, nudged(high - size_.height));
    if (roomy) rows(top, high);
    rows(bottom, nudged(low));
    if (roomy) rows(bottom, low - size_.height);
    columns(right, seen.x + seen.width);
    columns(left, seen.x - size_.width);
    if (roomy) return;
    rows(top, high);
    rows(bottom, low - size_.height);
  }

  const cv::Rect* begin() const { return at_.data(); }
  const cv::Rect* end() const { return at_.data() + count_; }

 private:
  /// Returns positions at a side's start, end and middle, moved into the frame.
  std::array<int, 3> along(Span side, int length, int limit) const {
    std::array at{side.first, side.last - length, (side.first + side.last - length) / 2};
    if (oriented_) std::ranges::rotate(at, at.begin() + 2);
    for (int& v : at) v = std::clamp(v, 0, limit - length);
    return at;
  }
  void rows(Span side, int y) {
    for (const int x : along(side, size_.width, frame_.width)) add({x, y});
  }
  void columns(Span side, int x) {
    for (const int y : along(side, size_.height, frame_.height)) add({x, y});
  }
  void add(cv::Point corner) {
    const cv::Rect tab(corner, size_);
    if ((tab & frame_) == tab) at_[count_++] = tab;
  }

  cv::Rect frame_;
  cv::Size size_;
  bool oriented_;
  std::array<cv::Rect, kPlaces> at_;
  size_t count_ = 0;
};

/// Returns the approximate number of pixels of an outline under a tab.
double overlap(const Outline& outline, int thickness, const cv::Rect& tab) {
  double pixels = 0;
  if (outline.upright()) {
    for (const cv::Rect& edge : outline.edges(thickness)) pixels += (edge & tab).area();
    return pixels;
  }
  const auto corners = outline.corners(thickness / 2.0);
  for (size_t i = 0; i < corners.size(); ++i) {
    cv::Point a = corners[i], b = corners[(i + 1) % corners.size()];
    if (cv::clipLine(tab, a, b)) pixels += (cv::norm(b - a) + 1) * thickness;
  }
  return pixels;
}

/// Returns a rectangle with a pixel more at each side.
cv::Rect widened(const cv::Rect& r) { return {r.x - 1, r.y - 1, r.width + 2, r.height + 2}; }

}  // namespace

GType label_placement_type() {
  static const GType type = register_enum(
      "KeepboxLabelPlacement",
      {{static_cast<int>(LabelPlacement::kApart), "apart",
        "Above, in, below or next to the box, where the label covers no label and little of "
        "the outline of a better box; omitted if there is no such place"},
       {static_cast<int>(LabelPlacement::kAbove), "above",
        "Above the box if the frame has room there, even if it covers other boxes"}});
  return type;
}

void CaptionPlacer::start(cv::Size frame, int thickness, LabelPlacement placement) {
  frame_ = {{0, 0}, frame};
  thickness_ = thickness;
  placement_ = placement;
  tabs_.clear();
  outlines_.clear();
}

/// Collects the captions and outlines that any of the places may touch.
void CaptionPlacer::look_around(const cv::Rect& reach) {
  near_tabs_.clear();
  near_outlines_.clear();
  for (const cv::Rect& tab : tabs_)
    if (!(tab & reach).empty()) near_tabs_.push_back(tab);
  for (const Outline& outline : outlines_)
    if (!(outline.extent & reach).empty()) near_outlines_.push_back(&outline);
}

/// True if a caption is there, or so near that two of one colour would look like one.
bool CaptionPlacer::taken(const cv::Rect& tab) const {
  const cv::Rect near = widened(tab);
  return std::ranges::any_of(near_tabs_, [&](const cv::Rect& t) { return !(t & near).empty(); });
}

/// Returns the pixels of outlines that a tab covers; any value of at least the limit once it is
/// reached.
double CaptionPlacer::covered(const cv::Rect& tab, double limit) const {
  double pixels = 0;
  for (const Outline* outline : near_outlines_) {
    if ((outline->extent & tab).empty()) continue;
    pixels += overlap(*outline, thickness_, tab);
    if (pixels >= limit) break;
  }
  return pixels;
}

std::optional<cv::Rect> CaptionPlacer::place(const Outline& box, cv::Size caption) {
  caption = {std::min(caption.width, frame_.width), std::min(caption.height, frame_.height)};
  const CaptionPlaces places(box, frame_, caption);
  look_around(widened(std::accumulate(places.begin(), places.end(), cv::Rect(), std::bit_or<>())));
  std::optional<cv::Rect> best;
  double min_pixels = std::numeric_limits<double>::infinity();
  for (const cv::Rect& tab : places) {
    if (tab.empty() || taken(tab)) continue;
    const double pixels = covered(tab, min_pixels);
    if (pixels < min_pixels) best = tab, min_pixels = pixels;
    if (min_pixels == 0) break;
  }
  if (placement_ == LabelPlacement::kAbove) return best;  // captions may overlap
  if (best) tabs_.push_back(*best);
  outlines_.push_back(box);
  return best;
}

}  // namespace keepbox
