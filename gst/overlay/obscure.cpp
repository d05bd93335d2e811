// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the pixels of objects to obscure, and the size of their blocks.
#include "gst/overlay/obscure.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>

#include "gst/metas/masks.h"

namespace keepbox {
namespace {

constexpr double kSmallestBlock = 2;  // pixels

/// An outline with its margin and blocks, in pixels.
struct Measured {
  Outline outline;
  int margin = 0;
  double block = kSmallestBlock;
};

Measured measured(const Outline& outline, ObscuringSize size) {
  const Box& b = outline.box;
  const double side = std::max(double{b.x2} - b.x1, double{b.y2} - b.y1);
  // One pixel more, because an edge may be within a pixel.
  return {outline, cvCeil(side * size.margin) + 1, std::max(side * size.strength, kSmallestBlock)};
}

/// Covers the pixels of an oriented box: those whose centres are at most half a pixel outside.
void cover_oriented(const Measured& m, const cv::Rect& at, cv::Mat& cover) {
  const Box& b = m.outline.box;
  const double cosine = std::cos(double{m.outline.angle}), sine = std::sin(double{m.outline.angle});
  const double half_x = (double{b.x2} - b.x1) / 2 + m.margin + 0.5;
  const double half_y = (double{b.y2} - b.y1) / 2 + m.margin + 0.5;
  for (int y = 0; y < cover.rows; ++y) {
    const double dy = at.y + y + 0.5 - (double{b.y1} + b.y2) / 2;
    uint8_t* row = cover.ptr(y);
    for (int x = 0; x < cover.cols; ++x) {
      const double dx = at.x + x + 0.5 - (double{b.x1} + b.x2) / 2;
      const bool inside = std::abs(dx * cosine + dy * sine) <= half_x &&
                          std::abs(dy * cosine - dx * sine) <= half_y;
      row[x] = inside ? 255 : 0;
    }
  }
}

/// Covers the pixels of a box in the scratch memory, and returns their area.
cv::Rect cover_box(const Canvas& canvas, const Measured& m, PaintScratch& scratch) {
  const cv::Point margin(m.margin, m.margin);
  const cv::Rect& extent = m.outline.extent;
  const cv::Rect inside = cv::Rect(extent.tl() - margin, extent.br() + margin) & canvas.bounds();
  if (inside.empty()) return {};
  const cv::Rect at = canvas.aligned(inside);
  cv::Mat cover = cleared(scratch.cover, at.size());
  if (m.outline.upright()) cover(inside - at.tl()).setTo(255);
  else cover_oriented(m, at, cover);
  return at;
}

cv::Rect cover_mask(const Canvas& canvas, const Measured& m, const FrameMask& mask,
                    PaintScratch& scratch) {
  const cv::Rect at = cover_object(canvas, mask, m.margin, scratch);
  if (at.empty()) return {};
  cv::Mat cover = scratch.cover(cv::Rect({0, 0}, at.size()));
  const int side = 2 * m.margin + 1;
  cv::dilate(cover, cover, cv::getStructuringElement(cv::MORPH_RECT, {side, side}), {-1, -1}, 1,
             cv::BORDER_CONSTANT | cv::BORDER_ISOLATED);
  return at;
}

}  // namespace

Status obscure(Canvas& canvas, std::span<const ObscuredBox> boxes, ObscuringSize size,
               PaintScratch& scratch) try {
  for (const ObscuredBox& box : boxes) {
    const std::optional<Outline> outline = outline_of(box.box, box.angle);
    if (!outline) continue;
    const Measured m = measured(*outline, size);
    cv::Rect at = cover_mask(canvas, m, box.mask, scratch);
    if (at.empty()) at = cover_box(canvas, m, scratch);
    if (at.empty()) continue;
    canvas.average(at, scratch.cover(cv::Rect({0, 0}, at.size())), m.block,
                   box.how == Obscuring::kBlur, scratch);
  }
  return {};
} catch (const std::exception& error) {
  return reject(ErrorKind::kUnsupported,
                std::string("OpenCV cannot blur the frame: ") + error.what());
}

Status cannot_obscure(const std::string& why) {
  return reject(ErrorKind::kUnsupported, "Objects on the frame cannot be obscured: " + why,
                "convert frames to a format in system memory before boxoverlay");
}

namespace {

/// Collects all runs of a mask; each row is terminated by an empty run.
cv::Rect runs_of(MaskRuns& mask, std::vector<PixelRun>& out) {
  out.clear();
  int left = mask.reach().last, right = mask.reach().first;
  for (int y = mask.lines().first; y < mask.lines().last; ++y) {
    for (const PixelRun& run : mask.of(y)) {
      left = std::min(left, run.first);
      right = std::max(right, run.last);
      out.push_back(run);
    }
    out.push_back({});
  }
  if (left >= right) return {};
  return {cv::Point(left, mask.lines().first), cv::Point(right, mask.lines().last)};
}

}  // namespace

cv::Rect cover_object(const Canvas& canvas, const FrameMask& mask, int margin,
                      PaintScratch& scratch) {
  const MaskView pixels(mask.pixels);
  if (!is_mask(pixels)) return {};
  const cv::Rect bounds = canvas.bounds();
  MaskRuns rows(pixels, mask.place, canvas.size(), MaskRuns::Lines::kRows);
  const cv::Rect extent = runs_of(rows, scratch.runs);
  if (extent.empty()) return {};
  const cv::Point more(margin, margin);
  const cv::Rect at = canvas.aligned(cv::Rect(extent.tl() - more, extent.br() + more) & bounds);
  cv::Mat cover = cleared(scratch.cover, at.size());
  int y = extent.y - at.y;
  for (const PixelRun& run : scratch.runs) {
    const auto count = static_cast<size_t>(run.last - run.first);
    if (count == 0) ++y;
    else std::memset(cover.ptr(y, run.first - at.x), 255, count);
  }
  return at;
}

}  // namespace keepbox
