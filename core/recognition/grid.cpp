// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts between input sizes and numbers of cells.
#include "core/recognition/grid.h"
#include "core/recognition/layout.h"

#include <algorithm>

namespace keepbox {

Size level_cells(Size input, uint32_t stride) {
  return {(input.width + stride - 1) / stride, (input.height + stride - 1) / stride};
}

uint32_t grid_anchors(Size input, const DetectorSpec& spec) {
  uint64_t anchors = 0;
  for (size_t level = 0; level < spec.level_count(); ++level) {
    const Size cells = level_cells(input, spec.strides[level]);
    anchors += uint64_t{cells.width} * cells.height * spec.anchors_of(level);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(anchors, UINT32_MAX));
}

Size square_input(uint32_t anchors, const DetectorSpec& spec) {
  constexpr uint32_t kStep = 32, kMaxSide = 8192;
  if (anchors == 0 || spec.level_count() == 0) return {};
  for (const uint32_t side : {300u, 128u})  // of SSD; not multiples of the largest strides
    if (grid_anchors({side, side}, spec) == anchors) return {side, side};
  for (uint32_t side = kStep; side <= kMaxSide; side += kStep)
    if (grid_anchors({side, side}, spec) == anchors) return {side, side};
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

Size input_of_maps(const Layout& layout) {
  if (layout.grids.empty() || layout.grids[0].cells.width == 0) return {};
  const uint32_t stride = layout.spec->strides[0];
  return {layout.grids[0].cells.width * stride, layout.grids[0].cells.height * stride};
}

}  // namespace keepbox
