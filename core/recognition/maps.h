// SPDX-License-Identifier: LGPL-2.1-or-later
// Feature maps: levels and strides, views as anchors x channels, and grids of an input.
#pragma once

#include <optional>
#include <span>

#include "core/recognition/layout.h"

namespace keepbox {

// Fits families to tables and feature maps.

/// Fits a family whose boxes and scores are tables or feature maps, in one tensor each or in one
/// tensor, for all levels or per level; nothing if it does not fit.
std::optional<Layout> fit_maps(const DetectorSpec& spec, std::span<const TensorView> tensors,
                               const Request& request);

// Anchors of an input, and inputs of a number of anchors.

/// Number of cells of the smallest input: fewer rows are not a grid.
inline constexpr size_t kMinGrid = 21;

/// Returns the cells of a level over an input, a partial cell counting as one.
Size level_cells(Size input, uint32_t stride);

/// Returns the number of anchors of a family's first `levels` levels over an input.
uint32_t grid_anchors(Size input, const DetectorSpec& spec, size_t levels);

/// Returns the number of anchors of all levels.
uint32_t grid_anchors(Size input, const DetectorSpec& spec);

/// True if all levels over an input, or as many as a model of the family may have, are that many
/// anchors.
bool is_grid(size_t anchors, Size input, const DetectorSpec& spec);

/// Returns the number of levels with that many anchors over the input, or else over a usual input;
/// all levels if there is none.
uint32_t levels_of(size_t anchors, Size input, const DetectorSpec& spec);

/// Returns the usual input with that many anchors, a square if possible, or 0 x 0.
Size usual_input(uint32_t anchors, const DetectorSpec& spec);

/// True if cells of two or more adjacent strides, over the input or over any square one, are that
/// many rows, whatever the family.
bool is_pyramid(size_t rows, Size input);

/// Returns the usual input of a known detector with a tensor of this shape, or 0 x 0.
Size likely_input(const Shape& shape);

/// Returns the input size implied by the feature maps (cells times stride), or 0 x 0.
Size input_of_maps(const Layout& layout);

}  // namespace keepbox
