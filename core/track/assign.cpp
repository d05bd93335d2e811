// SPDX-License-Identifier: LGPL-2.1-or-later
// Shortest augmenting paths for the sum, exchanges of equal sum for the order of ties.
#include "core/track/assign.h"

#include <algorithm>
#include <functional>
#include <limits>

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

}  // namespace keepbox
