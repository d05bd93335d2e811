// SPDX-License-Identifier: LGPL-2.1-or-later
// Anchors of an input, and inputs of a number of anchors.
#pragma once

#include "core/recognition/layout.h"

namespace keepbox {

/// Returns the cells of a level over an input, a partial cell counting as one.
Size level_cells(Size input, uint32_t stride);

/// Returns the number of anchors of a pyramid over an input.
uint32_t grid_anchors(Size input, const DetectorSpec& spec);

/// Returns the square input with that many anchors, or 0 x 0.
Size square_input(uint32_t anchors, const DetectorSpec& spec);

/// Returns the square input of a known detector with a tensor of this shape, or 0 x 0.
Size likely_input(const Shape& shape);

/// Returns the input size implied by the feature maps (cells times stride), or 0 x 0.
Size input_of_maps(const Layout& layout);

}  // namespace keepbox
