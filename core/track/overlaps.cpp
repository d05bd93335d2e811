// SPDX-License-Identifier: LGPL-2.1-or-later
// A sweep over left edges.
#include "core/track/overlaps.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace keepbox {

float iou_of(const Box& a, const Box& b) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(w > 0.0f && h > 0.0f)) return 0;
  const float intersection = w * h;
  const float union_area =
      (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - intersection;
  const float out = intersection / union_area;
  return out > 0.0f ? out : 0.0f;  // also of infinite sizes
}

std::span<const Overlap> OverlapFinder::find(std::span<const KindBox> rows,
                                             std::span<const KindBox> cols) {
  out_.clear();
  by_left_.clear();
  for (uint32_t col = 0; col < cols.size(); ++col)
    if (!std::isnan(cols[col].box.x1)) by_left_.push_back(col);  // NaN has no order
  std::ranges::sort(by_left_, [&](uint32_t a, uint32_t b) {
    return std::tie(cols[a].box.x1, a) < std::tie(cols[b].box.x1, b);
  });
  left_.clear();
  widest_ = 0;
  for (const uint32_t col : by_left_) {
    left_.push_back(cols[col].box.x1);
    widest_ = std::max(widest_, cols[col].box.x2 - cols[col].box.x1);
  }
  for (uint32_t row = 0; row < rows.size(); ++row) add_row(row, rows[row], cols);
  return out_;
}

void OverlapFinder::add_row(uint32_t row, const KindBox& box, std::span<const KindBox> cols) {
  of_row_.clear();
  // A column that begins further to the left ends before the row begins. Differences of floats are
  // rounded, hence a slightly lower one in double precision.
  const double min_x = static_cast<double>(box.box.x1) - static_cast<double>(widest_) * 1.000001;
  const auto from = std::ranges::lower_bound(left_, min_x, {}, [](float x) { return double{x}; });
  for (auto i = static_cast<size_t>(from - left_.begin()); i < left_.size(); ++i) {
    if (!(left_[i] < box.box.x2)) break;
    const uint32_t col = by_left_[i];
    if (cols[col].kind != box.kind) continue;
    const float iou = iou_of(box.box, cols[col].box);
    if (iou > 0.0f) of_row_.push_back({row, col, iou});
  }
  if (of_row_.size() > kMaxPerRow) {
    std::ranges::sort(of_row_, [](const Overlap& a, const Overlap& b) {
      return std::tie(b.iou, a.col) < std::tie(a.iou, b.col);
    });
    of_row_.resize(kMaxPerRow);
  }
  std::ranges::sort(of_row_, {}, &Overlap::col);
  out_.insert(out_.end(), of_row_.begin(), of_row_.end());
}

}  // namespace keepbox
