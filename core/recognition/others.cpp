// SPDX-License-Identifier: LGPL-2.1-or-later
// Collects the fits of single tensors and of several.
#include "core/recognition/others.h"

#include <vector>

#include "core/recognition/by_shape.h"
#include "core/recognition/grid.h"
#include "core/recognition/ranking.h"

namespace keepbox {
namespace {

/// True unless the family has anchors in cells, of another number than the input's.
bool has_anchors_of(const Layout& layout, Size input) {
  const DetectorSpec& spec = *layout.spec;
  const bool cells = has_cells(spec.coding) || spec.anchors.given() || spec.peaks;
  return input.width == 0 || !cells || grid_anchors(input, spec) == layout.anchors;
}

}  // namespace

std::string other_families(const Layout& than, std::span<const TensorView> tensors,
                           const Request& request, Size input) {
  Request open = request;  // without a family that was set or declared
  open.family = nullptr;
  open.detector = "auto";
  open.declared = {};
  const TensorView& boxes = tensors[static_cast<size_t>(than[FieldId::kBox].tensor)];
  const std::vector<Layout> layouts =
      than.spec->tensor_count > 1 ? fitting_families(tensors, open) : fitting_layouts(boxes, open);
  std::string names;
  for (const Layout& each : layouts)
    if (each.spec->name != than.spec->name && has_anchors_of(each, input))
      names += (names.empty() ? "" : ", ") + std::string(each.spec->name);
  return names;
}

}  // namespace keepbox
