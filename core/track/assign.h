// SPDX-License-Identifier: LGPL-2.1-or-later
// Assigns boxes to tracks by their overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/formula/box.h"

namespace keepbox {

// Assignment of rows to columns by weight, for the pairs that are allowed.

/// A row and a column that may be matched.
struct Pair {
  uint32_t row = 0, col = 0;
  float weight = 0;  // 0 to 16; rounded to a multiple of 2^-24
};

/// The column of a row that is not matched, and the row of such a column.
inline constexpr uint32_t kUnmatched = UINT32_MAX;

/// Finds the matching with the largest sum of weights. Rows and columns may stay unmatched, which
/// adds 0. Shortest augmenting paths on the allowed pairs, with exact integers; a search never
/// leaves the connected component of its row (Jonker and Volgenant 1987, doi 10.1007/BF02278710,
/// for sparse pairs).
///
/// Takes the first in order of several matchings with the same sum: the first row has the lowest
/// possible column, then the second row, and so on; no column counts as the last one. The search
/// for it looks at kMaxTieSteps pairs; beyond that the sum is still the largest, and the result
/// still depends on nothing but the pairs.
class Assigner {
 public:
  static constexpr size_t kMaxTieSteps = 1u << 20;

  /// Returns the column of each row, or kUnmatched. Valid until the next call.
  /// @param pairs in ascending order of (row, col), each once. @pre row < rows, col < cols.
  std::span<const uint32_t> solve(uint32_t rows, uint32_t cols, std::span<const Pair> pairs);

 private:
  struct Reached {
    int64_t distance;
    uint32_t index;  // of a row or column
    auto operator<=>(const Reached&) const = default;
  };

  void start(uint32_t rows, uint32_t cols, std::span<const Pair> pairs);
  void augment(uint32_t row);
  void scan(uint32_t row, int64_t distance);
  bool settle_until_end();
  void reprice(int64_t end);
  void flip(uint32_t row, uint32_t col);
  void order_ties();
  bool exchange(uint32_t row, uint32_t col);
  bool expand(uint32_t row);
  bool leave_unmatched(uint32_t row, uint32_t col);
  void push(uint32_t row, uint32_t before);
  void apply_chain(uint32_t row, uint32_t col);
  bool is_tight(size_t pair) const;

  std::span<const Pair> pairs_;
  std::vector<int64_t> weight_;     // by pair
  std::vector<uint32_t> first_;     // by row: its first pair; one more at the end
  std::vector<uint32_t> col_of_;    // by row
  std::vector<uint32_t> row_of_;    // by column
  std::vector<int64_t> row_price_;  // prices are at least 0, those of a pair together at
  std::vector<int64_t> col_price_;  // least its weight, and 0 if not matched

  // A search for a path:
  std::vector<int64_t> distance_;        // by column
  std::vector<uint32_t> via_;            // by column: the row before it
  std::vector<uint32_t> touched_;        // columns with a distance
  std::vector<Reached> heap_, settled_;  // columns
  std::vector<Reached> scanned_;         // rows
  Reached end_{};                        // row that can be left unmatched

  // A search for an exchange of equal sum:
  uint32_t claimant_ = 0;           // row that gets another column
  std::vector<uint32_t> before_;    // by row: the row that takes its column
  std::vector<uint32_t> seen_in_;   // by row: number of the search that reached it
  std::vector<uint32_t> queue_;     // rows that need another column
  Pair last_{}, unmatched_move_{};  // last move; move that leaves a column or row unmatched
  bool left_ = false;
  uint32_t search_ = 0;
  size_t tie_steps_ = 0;
};

// Pairs of boxes that overlap.

/// A box that may be matched with boxes of the same kind.
struct KindBox {
  Box box;
  uint64_t kind = 0;
};

/// Two boxes of the same kind that overlap.
struct Overlap {
  uint32_t row = 0, col = 0;
  float iou = 0;  // above 0
};

/// Returns intersection / union; 0 if they do not overlap, or if a value is not finite.
float iou_of(const Box& a, const Box& b);

/// Finds pairs of overlapping boxes without testing all of them: sorted by their left edges.
class OverlapFinder {
 public:
  /// The maximum number of pairs per row: the largest overlaps, at equal ones the lowest columns.
  static constexpr size_t kMaxPerRow = 64;

  /// Returns the pairs in ascending order of (row, col). Valid until the next call.
  std::span<const Overlap> find(std::span<const KindBox> rows, std::span<const KindBox> cols);

 private:
  void add_row(uint32_t row, const KindBox& box, std::span<const KindBox> cols);

  std::vector<uint32_t> by_left_;  // columns
  std::vector<float> left_;        // of these
  float widest_ = 0;
  std::vector<Overlap> of_row_, out_;
};

}  // namespace keepbox
