// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of end-to-end models, and tensors of their values.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/families/formula.h"

namespace keepbox::test {

inline constexpr Size kInput{608, 800};
inline constexpr size_t kFilled = 20;  // rows above the threshold

struct Found {
  Corners box;  // input pixels
  double score;
  uint32_t class_id;
  double angle = 0;  // of oriented boxes
};

/// Returns the value for a letter of a row's order: x y X Y corners, s score, c class, i image.
double number(const Found& row, char letter, bool fractions);

/// Draws rows: the first ones are boxes, best first, the others far below any threshold.
std::vector<Found> draw_rows(Chance& chance, size_t rows);

/// Returns a frame without tensors, whose truths are the rows above the threshold.
Frame frame_of(const char* family, std::string form, const std::vector<Found>& rows);

/// Makes a tensor of some values of each row, which are rounded to its type.
/// @param order a letter per value, as in number().
Tensor table(std::vector<Found>& rows, const char* order, bool fractions, const Shape& shape,
             DataType type, const char* id = "");

/// Makes a tensor of integers.
template <class T>
Tensor whole(const std::vector<T>& numbers, const Shape& shape, DataType type, const char* id) {
  Tensor out{.shape = shape, .id = id, .type = type};
  out.raw.resize(numbers.size() * sizeof(T));
  std::memcpy(out.raw.data(), numbers.data(), out.raw.size());
  return out;
}

}  // namespace keepbox::test
