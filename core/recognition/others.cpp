// SPDX-License-Identifier: LGPL-2.1-or-later
// Collects the fits of single tensors and of several.
#include "core/recognition/others.h"

#include <vector>

#include "core/recognition/grid.h"
#include "core/recognition/match_by_shape.h"
#include "core/recognition/ranking.h"

namespace keepbox {
namespace {

/// True unless the input implies another number of anchors for the family.
bool has_anchors_of(const Layout& layout, Size input) {
  const DetectorSpec& spec = *layout.spec;
  const bool cells = has_cells(spec.coding) || spec.anchors.given() || spec.peaks;
  return input.width == 0 || !cells || grid_anchors(input, spec, layout.levels) == layout.anchors;
}

}  // namespace

std::string other_families(const Layout& than, std::span<const TensorView> tensors,
                           const Request& request, Size input) {
  const TensorView& boxes = tensors[static_cast<size_t>(than[FieldId::kBox].tensor)];
  const std::vector<Layout> layouts = than.spec->tensor_count > 1
                                          ? fitting_families(tensors, request)
                                          : fitting_layouts(boxes, request);
  std::string names;
  for (const Layout& each : layouts)
    if (each.spec->name != than.spec->name && has_anchors_of(each, input))
      names += (names.empty() ? "" : ", ") + std::string(each.spec->name);
  return names;
}

}  // namespace keepbox
