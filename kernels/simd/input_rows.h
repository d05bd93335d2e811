// SPDX-License-Identifier: LGPL-2.1-or-later
// Between the maker of inputs and its vector code: rows.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/input.h"

namespace keepbox::simd {

/// Components that lie beside each other in a plane and are sampled at the same places: R, G and B
/// of packed pixels, U and V of NV12.
struct Strand {
  uint8_t component[3] = {};  // which of the frame's
  uint8_t at[3] = {};         // bytes from the strand's start to a component's first sample
  uint8_t count = 0;          // of components
  uint8_t plane = 0, offset = 0, step = 1;  // as FrameComponent has them, for the strand's start
  std::vector<Tap> columns, rows;
  std::vector<int32_t> first, next;  // bytes of each column's samples, from the row's start
  std::vector<float> part;
  size_t bytes = 0;       // of a row that may be read
  size_t safe = 0;        // first columns of which words of four bytes may be read
  bool plain = false;     // the columns are the samples
  bool exact = false;     // the columns are some of the samples
  bool one_word = false;  // four bytes hold all components of a sample and the next one
};

/// Where a strand's components go, a row of floats each.
using Lines = std::array<float*, 3>;

/// What a row of the place is made of.
struct Mix {
  std::array<const float*, 3> top{}, bottom{};  // by component
  std::array<float, 3> part{};                  // with 0 the bottom is not read
  uint32_t width = 0;
  bool straight = false;            // colours are components
  std::array<uint8_t, 3> source{0, 1, 2};  // which one, by channel
};

void resample_row(const Strand& strand, const uint8_t* row, const Lines& lines);

/// Writes `mix.width` pixels. @param to the first one's number of the first channel.
void mix_row(const PixelRules& rules, const Mix& mix, void* to);

/// Writes `count` pixels of padding.
void fill_pixels(const PixelRules& rules, size_t count, void* to);

}  // namespace keepbox::simd
