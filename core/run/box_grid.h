// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds boxes that are near each other on a frame.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/base/scratch.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Orders boxes by their places, so that those near a box are in a few ranges. Each is in one cell,
/// that of its upper left corner, of one of several grids, by its size.
class BoxGrid {
 public:
  /// Consecutive slots.
  struct Range {
    uint32_t first, end;
  };

  /// Reserves memory for that many boxes. @param hint how to use less.
  Status grow(size_t boxes, const char* hint);

  /// Gives each box a slot, 0 .. boxes.size() - 1. Boxes need not be on the frame.
  /// @pre grow() was called for as many boxes, and slots.size() == boxes.size().
  void fill(std::span<const Box> boxes, Size frame, std::span<uint32_t> slots);

  /// Calls visit(Range) for slots of all boxes that touch() this one, and of others.
  template <class Visit>
  void each_near(const Box& box, Visit visit) const {
    for (const Level& level : levels_) {
      if (level.count == 0) continue;
      const Cells at = level.cells(box);
      const int32_t left = larger_of(at.x1 - level.span_x, 0);
      for (int32_t y = larger_of(at.y1 - level.span_y, 0); y <= at.y2; ++y) {
        const uint32_t* const row = ends_ + level.first + y * level.columns;
        if (row[left] < row[at.x2 + 1]) visit(Range{row[left], row[at.x2 + 1]});
      }
    }
  }

 private:
  static constexpr size_t kLevels = 3;

  /// The cells of two corners.
  struct Cells {
    int32_t x1, y1, x2, y2;
  };

  /// A grid.
  struct Level {
    float per_side = 0;            // 1 / side of a cell
    float last_x = 0, last_y = 0;  // column and row
    int32_t columns = 1, first = 0;
    int32_t span_x = 0, span_y = 0;  // most cells from the first to the last of a box
    uint32_t count = 0;              // boxes

    Cells cells(const Box& box) const {
      return {cell(box.x1, last_x), cell(box.y1, last_y), cell(box.x2, last_x),
              cell(box.y2, last_y)};
    }
    int32_t cell(float at, float last) const {
      return static_cast<int32_t>(larger(smaller(at * per_side, last), 0.0f));
    }
  };

  static int32_t larger_of(int32_t a, int32_t b) { return a > b ? a : b; }
  void fill_few(std::span<uint32_t> slots);
  uint32_t lay_out(float side, Size frame);
  uint32_t enter(const Box& box, float side);

  Level levels_[kLevels];
  ScratchBuffer<uint32_t> memory_;
  uint32_t* ends_ = nullptr;  // of the slots before each cell, cells row by row
};

}  // namespace keepbox
