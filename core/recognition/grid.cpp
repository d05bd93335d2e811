// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts between input sizes and numbers of cells.
#include "core/recognition/grid.h"
#include "core/recognition/layout.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr uint32_t kStep = 32, kMaxSide = 8192;  // sides of squares

/// Returns the square input of the first `levels` levels, or 0 x 0.
Size square_input(uint32_t anchors, const DetectorSpec& spec, size_t levels) {
  for (const uint32_t side : {300u, 128u})  // of SSD; not multiples of the largest strides
    if (grid_anchors({side, side}, spec, levels) == anchors) return {side, side};
  for (uint32_t side = kStep; side <= kMaxSide; side += kStep)
    if (grid_anchors({side, side}, spec, levels) == anchors) return {side, side};
  return {};
}

/// Returns the pictures of cameras that models with anchor sizes are made for.
Size camera_input(uint32_t anchors, const DetectorSpec& spec, size_t levels) {
  if (!spec.anchors.given()) return {};
  for (const Size input : {Size{320, 240}, Size{640, 480}})
    if (grid_anchors(input, spec, levels) == anchors) return input;
  return {};
}

/// Calls visit with the possible numbers of levels, all first, until it returns true.
template <class Visit>
bool any_levels(const DetectorSpec& spec, Visit visit) {
  for (size_t levels = spec.level_count(); levels > 0 && levels >= spec.fewest_levels(); --levels)
    if (visit(levels)) return true;
  return false;
}

}  // namespace

Size level_cells(Size input, uint32_t stride) {
  return {(input.width + stride - 1) / stride, (input.height + stride - 1) / stride};
}

uint32_t grid_anchors(Size input, const DetectorSpec& spec, size_t levels) {
  uint64_t anchors = 0;
  for (size_t level = 0; level < levels; ++level) {
    const Size cells = level_cells(input, spec.strides[level]);
    anchors += uint64_t{cells.width} * cells.height * spec.anchors_of(level);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(anchors, UINT32_MAX));
}

uint32_t grid_anchors(Size input, const DetectorSpec& spec) {
  return grid_anchors(input, spec, spec.level_count());
}

bool is_grid(size_t anchors, Size input, const DetectorSpec& spec) {
  return any_levels(spec,
                    [&](size_t levels) { return grid_anchors(input, spec, levels) == anchors; });
}

uint32_t levels_of(size_t anchors, Size input, const DetectorSpec& spec) {
  size_t found = spec.level_count();
  const uint32_t wanted = narrow(anchors);
  const auto over = [&](auto has_anchors) {
    return any_levels(spec, [&](size_t levels) {
      if (!has_anchors(levels)) return false;
      found = levels;
      return true;
    });
  };
  if (!over([&](size_t levels) { return grid_anchors(input, spec, levels) == wanted; }))
    over([&](size_t levels) { return square_input(wanted, spec, levels).width != 0; });
  return narrow(found);
}

Size usual_input(uint32_t anchors, const DetectorSpec& spec) {
  Size out;
  if (anchors == 0) return out;
  any_levels(spec, [&](size_t levels) {
    out = square_input(anchors, spec, levels);
    if (out.width == 0) out = camera_input(anchors, spec, levels);
    return out.width != 0;
  });
  return out;
}

bool is_pyramid(size_t rows, Size input) {
  constexpr uint32_t kStrides[] = {4, 8, 16, 32, 64, 128};
  const auto has_rows = [&](Size size) {
    for (size_t first = 0; first < std::size(kStrides); ++first) {
      uint64_t cells = 0;
      for (size_t level = first; level < std::size(kStrides); ++level) {
        const Size of = level_cells(size, kStrides[level]);
        cells += uint64_t{of.width} * of.height;
        for (const uint32_t anchors : {1u, 2u, 3u})
          if (level > first && cells * anchors == rows) return true;
      }
    }
    return false;
  };
  if (rows < kMinGrid) return false;
  if (input.width != 0 && has_rows(input)) return true;
  for (uint32_t side = kStep; side <= kMaxSide; side += kStep)
    if (has_rows({side, side})) return true;
  return false;
}

Size likely_input(const Shape& shape) {
  if (shape.rank() == 0) return {};
  const auto anchors =
      static_cast<uint32_t>(std::min<size_t>(std::ranges::max(shape.dims()), UINT32_MAX));
  for (const DetectorSpec& spec : detectors())
    if (const Size size = usual_input(anchors, spec); size.width != 0) return size;
  return {};
}

Size input_of_maps(const Layout& layout) {
  if (layout.grids.empty() || layout.grids[0].cells.width == 0) return {};
  const uint32_t stride = layout.spec->strides[0];
  return {layout.grids[0].cells.width * stride, layout.grids[0].cells.height * stride};
}

}  // namespace keepbox
