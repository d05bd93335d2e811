// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of all rows of a layout that tell families of the same shapes apart.
#pragma once

#include <optional>
#include <span>

#include "core/recognition/layout.h"

namespace keepbox {

/// How the four values of a box are ordered, over all rows of the first image.
enum class BoxOrder : uint8_t {
  kUnknown,     // too few rows, or the host cannot read them
  kAscending,   // the third is above the first and the fourth above the second in each row: corners
  kNearly,      // so but for rounding, and for rows without an object
  kDisordered,  // reversed in many rows: no corners
};
BoxOrder box_order(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the position of a background among class scores that add up to 1 in each row, if it is
/// above one half in most rows; kNone if there is none or the host cannot read them.
Background background_of(const Layout& layout, std::span<const TensorView> tensors);

/// True if the class scores of each row add up to 1; also if the host cannot read them.
bool may_add_to_one(const Layout& layout, std::span<const TensorView> tensors);

/// Numbers of class scores, or of a score per row.
struct ScoreCount {
  size_t all = 0, not_finite = 0;
};
/// Counts the scores of the first image; zeros if the host cannot read them.
ScoreCount count_scores(const Layout& layout, std::span<const TensorView> tensors);

/// True if nearly all rows have a last class score that is not close to 0, unlike the other scores:
/// an angle, not a class.
bool ends_in_angle(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the median distance between the box of an anchor with an object and the nearest one of
/// another cell, as a share of the input. It is short for the input of the model, because detectors
/// see an object from several cells. Nothing if the host cannot read the tensors, for families
/// without boxes in pixels of cells, and if less than two cells have an object.
/// @param input that may be the model's.
std::optional<float> spread_of(const Layout& layout, std::span<const TensorView> tensors,
                               Size input);

}  // namespace keepbox
