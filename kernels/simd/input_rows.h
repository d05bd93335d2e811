// SPDX-License-Identifier: LGPL-2.1-or-later
// Interface between the input maker and its vector code.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/input.h"

namespace keepbox::simd {

/// Components that are interleaved in a plane and sampled at the same positions: R, G and B of
/// packed pixels, U and V of NV12.
struct SampleGroup {
  uint8_t component[3] = {};  // indices of the frame's components
  uint8_t at[3] = {};         // bytes from the start of the strand to a component's first sample
  uint8_t count = 0;          // number of components
  uint8_t plane = 0, offset = 0, step = 1;  // of FrameComponent, for the start of the strand
  std::vector<Tap> columns, rows;
  std::vector<int32_t> first, next;  // byte offsets of each column's samples in the row
  std::vector<float> weight;
  size_t bytes = 0;         // readable bytes per row
  size_t word_columns = 0;  // leading columns for which words of four bytes may be read
  bool plain = false;       // each column is one sample
  bool exact = false;       // columns are a subset of the samples
  bool one_word = false;    // four bytes hold all components of a sample and the next one
};

/// Output of a strand's components, one row of floats each.
using RowBuffers = std::array<float*, 3>;

/// Inputs for one row of the rectangle.
struct Mix {
  std::array<const float*, 3> top{}, bottom{};  // by component
  std::array<float, 3> weight{};                // if 0, bottom is not read
  uint32_t width = 0;
  bool is_identity = false;                // colours are components
  std::array<uint8_t, 3> source{0, 1, 2};  // component per channel
};

void resample_row(const SampleGroup& group, const uint8_t* row, const RowBuffers& lines);

/// Writes `mix.width` pixels. @param to value of the first channel of the first pixel.
void mix_row(const PixelRules& rules, const Mix& mix, void* to);

/// Writes `count` pixels of padding.
void fill_pixels(const PixelRules& rules, size_t count, void* to);

}  // namespace keepbox::simd
