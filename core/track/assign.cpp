// SPDX-License-Identifier: LGPL-2.1-or-later
// Assigns boxes to tracks by their overlaps.
#include "core/track/assign.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

namespace keepbox {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
constexpr int64_t kSettled = -1;                    // less than every distance
constexpr uint32_t kViaUnmatched = kUnmatched - 1;  // in before_: no row takes the column

int64_t fixed_point(float weight) {
  return static_cast<int64_t>(static_cast<double>(weight) * 0x1p24 + 0.5);
}

}  // namespace

std::span<const uint32_t> Assigner::solve(uint32_t rows, uint32_t cols,
                                          std::span<const Pair> pairs) {
  start(rows, cols, pairs);
  for (uint32_t row = 0; row < rows; ++row) augment(row);
  order_ties();
  return col_of_;
}

void Assigner::start(uint32_t rows, uint32_t cols, std::span<const Pair> pairs) {
  pairs_ = pairs;
  weight_.resize(pairs.size());
  first_.assign(rows + 1, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    weight_[i] = fixed_point(pairs[i].weight);
    ++first_[pairs[i].row + 1];
  }
  for (uint32_t row = 0; row < rows; ++row) first_[row + 1] += first_[row];
  col_of_.assign(rows, kUnmatched);
  row_of_.assign(cols, kUnmatched);
  row_price_.assign(rows, 0);
  col_price_.assign(cols, 0);
  distance_.assign(cols, kFar);
  via_.resize(cols);
  before_.resize(rows);
  seen_in_.assign(rows, 0);
  search_ = 0;
  tie_steps_ = 0;
}

/// Matches one more row, or leaves it or another row unmatched, whichever gives the largest sum.
void Assigner::augment(uint32_t row) {
  for (size_t i = first_[row]; i < first_[row + 1]; ++i)
    row_price_[row] = std::max(row_price_[row], weight_[i] - col_price_[pairs_[i].col]);
  heap_.clear();
  settled_.clear();
  scanned_.clear();
  end_ = {kFar, row};
  scan(row, 0);
  if (settle_until_end()) {
    reprice(settled_.back().distance);
    flip(row, settled_.back().index);
  } else {
    reprice(end_.distance);
    const uint32_t col = col_of_[end_.index];
    col_of_[end_.index] = kUnmatched;
    if (end_.index != row) flip(row, col);
  }
  for (const uint32_t col : touched_) distance_[col] = kFar;
  touched_.clear();
}

/// Updates the distances of the columns that a row can have. A distance is the sum that is lost.
void Assigner::scan(uint32_t row, int64_t distance) {
  scanned_.push_back({distance, row});
  if (distance + row_price_[row] < end_.distance) end_ = {distance + row_price_[row], row};
  for (size_t i = first_[row]; i < first_[row + 1]; ++i) {
    const uint32_t col = pairs_[i].col;
    const int64_t there = distance + row_price_[row] + col_price_[col] - weight_[i];
    if (there >= distance_[col]) continue;
    if (distance_[col] == kFar) touched_.push_back(col);
    distance_[col] = there;
    via_[col] = row;
    heap_.push_back({there, col});
    std::ranges::push_heap(heap_, std::greater{});
  }
}

/// Settles columns, nearest first, up to a free one. False if leaving a row unmatched is nearer.
bool Assigner::settle_until_end() {
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater{});
    const Reached next = heap_.back();
    heap_.pop_back();
    if (next.distance != distance_[next.index]) continue;
    if (next.distance > end_.distance) return false;
    distance_[next.index] = kSettled;
    settled_.push_back(next);
    if (row_of_[next.index] == kUnmatched) return true;
    scan(row_of_[next.index], next.distance);
  }
  return false;
}

void Assigner::reprice(int64_t end) {
  for (const auto& [distance, row] : scanned_)
    row_price_[row] -= std::max<int64_t>(end - distance, 0);
  for (const auto& [distance, col] : settled_)
    col_price_[col] += std::max<int64_t>(end - distance, 0);
}

/// Matches the columns of a path that ends at `col` to the rows before them, back to `row`.
void Assigner::flip(uint32_t row, uint32_t col) {
  for (uint32_t at = kUnmatched; at != row;) {
    at = via_[col];
    row_of_[col] = at;
    std::swap(col_of_[at], col);
  }
}

/// True if the pair can be part of a matching with the largest sum.
bool Assigner::is_tight(size_t pair) const {
  return row_price_[pairs_[pair].row] + col_price_[pairs_[pair].col] == weight_[pair];
}

void Assigner::order_ties() {
  for (uint32_t row = 0; row < col_of_.size(); ++row)
    for (size_t i = first_[row]; i < first_[row + 1] && pairs_[i].col < col_of_[row]; ++i)
      if (is_tight(i) && exchange(row, pairs_[i].col)) break;
}

/// Gives a row that column if this is possible with the same sum and without changing earlier rows.
/// Searches a chain of rows that take each other's columns. The chain may leave a row or column
/// with price 0 unmatched if it matches another one instead, and continues from there.
bool Assigner::exchange(uint32_t row, uint32_t col) {
  const uint32_t owner = row_of_[col];
  if (owner < row) return false;
  ++search_;
  claimant_ = row;
  left_ = false;
  queue_.clear();
  bool found = false;
  if (owner == kUnmatched) found = leave_unmatched(row, col);
  else push(owner, row);
  for (size_t i = 0; !found && i < queue_.size() && tie_steps_ < kMaxTieSteps; ++i)
    found = expand(queue_[i]);
  if (found) apply_chain(row, col);
  return found;
}

void Assigner::push(uint32_t row, uint32_t before) {
  if (seen_in_[row] == search_) return;
  seen_in_[row] = search_;
  before_[row] = before;
  queue_.push_back(row);
}

/// Looks for another column for a row that loses its own. True if the chain is complete.
bool Assigner::expand(uint32_t row) {
  const uint32_t old = col_of_[claimant_];
  for (size_t i = first_[row]; i < first_[row + 1]; ++i) {
    ++tie_steps_;
    const uint32_t col = pairs_[i].col;
    if (col == col_of_[row] || !is_tight(i)) continue;
    if (col == old) {
      last_ = {row, col};
      return true;
    }
    const uint32_t owner = row_of_[col];
    if (owner == kUnmatched) {
      if (leave_unmatched(row, col)) return true;
    } else if (owner > claimant_) {
      push(owner, row);
    }
  }
  return row_price_[row] == 0 && leave_unmatched(row, kUnmatched);
}

/// Ends a part of the chain with a row that takes a free column or none. True if the chain is
/// complete, because the column that the first row leaves need not be matched.
bool Assigner::leave_unmatched(uint32_t row, uint32_t col) {
  if (left_) return false;
  left_ = true;
  last_ = unmatched_move_ = {row, col};
  const auto may_be_left = [&](uint32_t c) { return c == kUnmatched || col_price_[c] == 0; };
  if (may_be_left(col_of_[claimant_])) return true;
  for (uint32_t other = claimant_ + 1; other < col_of_.size(); ++other) {
    ++tie_steps_;
    if (may_be_left(col_of_[other])) push(other, kViaUnmatched);
  }
  return false;
}

/// Makes the moves of the chain, from its last one back to the first row.
void Assigner::apply_chain(uint32_t row, uint32_t col) {
  uint32_t at = last_.row, to = last_.col;
  while (at != row) {
    const uint32_t before = before_[at];
    const uint32_t lost = std::exchange(col_of_[at], to);
    if (lost != kUnmatched && row_of_[lost] == at) row_of_[lost] = kUnmatched;
    if (to != kUnmatched) row_of_[to] = at;
    at = before == kViaUnmatched ? unmatched_move_.row : before;
    to = before == kViaUnmatched ? unmatched_move_.col : lost;
  }
  const uint32_t lost = std::exchange(col_of_[row], col);
  if (lost != kUnmatched && row_of_[lost] == row) row_of_[lost] = kUnmatched;
  row_of_[col] = row;
}

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
