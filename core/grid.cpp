// SPDX-License-Identifier: LGPL-2.1-or-later
// Cells of inputs, and inputs of cells.
#include "core/layout.h"

#include <algorithm>

namespace keepbox {

uint32_t grid_cells(Size input, const DetectorSpec& spec) {
  uint64_t cells = 0;
  for (const uint32_t stride : spec.strides)
    if (stride != 0)
      cells += uint64_t{(input.width + stride - 1) / stride} *
               ((input.height + stride - 1) / stride);
  return static_cast<uint32_t>(std::min<uint64_t>(cells, UINT32_MAX));
}

Size square_input(uint32_t anchors, const DetectorSpec& spec) {
  constexpr uint32_t kStep = 32, kLargest = 8192;
  if (anchors == 0) return {};
  for (uint32_t side = kStep; side <= kLargest; side += kStep)
    if (uint64_t{grid_cells({side, side}, spec)} * spec.anchors_per_cell == anchors)
      return {side, side};
  return {};
}

Size likely_input(const Shape& shape) {
  if (shape.rank() == 0) return {};
  const auto anchors =
      static_cast<uint32_t>(std::min<size_t>(std::ranges::max(shape.dims()), UINT32_MAX));
  for (const DetectorSpec& spec : detectors())
    if (const Size size = square_input(anchors, spec); size.width != 0) return size;
  return {};
}

}  // namespace keepbox
