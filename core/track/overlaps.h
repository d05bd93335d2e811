// SPDX-License-Identifier: LGPL-2.1-or-later
// Pairs of boxes that overlap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/formula/box.h"

namespace keepbox {

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
