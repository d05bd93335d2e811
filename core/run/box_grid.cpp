// SPDX-License-Identifier: LGPL-2.1-or-later
// Sorts boxes into cells.
#include "core/run/box_grid.h"

#include <algorithm>
#include <numeric>

namespace keepbox {
namespace {

constexpr size_t kFew = 48;  // boxes that are faster without cells
constexpr float kCellsPerBox = 2;
constexpr float kCellsPerSide = 4;  // of a level, per cell of the next

float side_of(const Box& box) { return larger(box.x2 - box.x1, box.y2 - box.y1); }

/// Returns about the geometric mean of sides: bits are nearly logarithms.
float usual_side(std::span<const Box> boxes) {
  uint64_t sum = 0;
  for (const Box& each : boxes) sum += float_bits(larger(side_of(each), 1.0f));
  return float_from_bits(static_cast<uint32_t>(sum / boxes.size()));
}

/// Returns the least side of cells so that there are about that many on the frame.
float least_side(Size frame, float cells) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  return larger(square_root(width * height / cells), (width + height) / cells);
}

}  // namespace

// Cells of the first level are at most 2 kCellsPerBox per box and one more; of the others, fewer.
Status BoxGrid::grow(size_t boxes, const char* hint) {
  return memory_.grow(boxes * static_cast<size_t>(3 * kCellsPerBox) + 8, hint);
}

/// Sizes the levels. @return the number of cells.
uint32_t BoxGrid::lay_out(float side, Size frame) {
  int32_t cells = 0;
  for (Level& level : levels_) {
    level = {.per_side = 1 / side, .first = cells};
    const auto last_column = static_cast<int32_t>(static_cast<float>(frame.width) / side);
    const auto last_row = static_cast<int32_t>(static_cast<float>(frame.height) / side);
    level.last_x = static_cast<float>(last_column), level.last_y = static_cast<float>(last_row);
    level.columns = last_column + 1;
    cells += level.columns * (last_row + 1);
    side *= kCellsPerSide;
  }
  return static_cast<uint32_t>(cells);
}

/// Adds a box to its level. @return its cell.
uint32_t BoxGrid::enter(const Box& box, float side) {
  const float own = side_of(box);
  Level& level = levels_[(own > side ? 1 : 0) + (own > side * kCellsPerSide ? 1 : 0)];
  const Cells at = level.cells(box);
  level.span_x = larger_of(level.span_x, at.x2 - at.x1);
  level.span_y = larger_of(level.span_y, at.y2 - at.y1);
  ++level.count;
  return static_cast<uint32_t>(level.first + at.y1 * level.columns + at.x1);
}

/// Puts all boxes in one cell.
void BoxGrid::fill_few(std::span<uint32_t> slots) {
  for (Level& level : levels_) level.count = 0;
  std::iota(slots.begin(), slots.end(), 0u);
  ends_ = memory_.data();
  ends_[0] = 0;
  ends_[1] = static_cast<uint32_t>(slots.size());
  levels_[0] = {.count = ends_[1]};
}

void BoxGrid::fill(std::span<const Box> boxes, Size frame, std::span<uint32_t> slots) {
  if (boxes.size() <= kFew) return fill_few(slots);
  const auto most_cells = static_cast<float>(boxes.size()) * kCellsPerBox;
  const float side = larger(2 * usual_side(boxes), least_side(frame, most_cells));
  const uint32_t cells = lay_out(side, frame);
  uint32_t* const counts = memory_.data();  // of cell c at c + 1
  std::ranges::fill(memory_.first(cells + 2), 0u);
  for (size_t i = 0; i < boxes.size(); ++i) ++counts[(slots[i] = enter(boxes[i], side)) + 2];
  for (uint32_t i = 2; i < cells + 2; ++i) counts[i] += counts[i - 1];
  // counts[c + 1] is where cell c begins; in the end, where it ends
  for (uint32_t& each : slots) each = counts[each + 1]++;
  ends_ = counts;
}

}  // namespace keepbox
