// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that a model is tried with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/plan/input.h"

namespace keepbox {

/// Number of pictures of draw_tried().
inline constexpr unsigned kTriedPictures = 4;

/// Returns a pixel (R, G, B) of squares in two greys with a small red and a small blue one, whose
/// edges and colours make detectors respond.
std::array<uint8_t, 3> pixel_of_squares(uint32_t x, uint32_t y);

/// Fills the input of a model with pictures, one after the other: noise, black, squares, white.
/// @param to has room for kTriedPictures, or for the first ones.
void draw_tried(std::span<std::byte> to, const InputForm& input);

}  // namespace keepbox
