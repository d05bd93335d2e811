// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes the best anchors of tables of boxes in pixels relative to cells.
#include "core/recognition/row_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/recognition/grid.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

constexpr size_t kMaxSeen = 256;  // anchors that are compared

/// The box of an anchor: its cell in pixels, and its centre in fractions of the input.
struct Seen {
  float cell_x, cell_y, x, y;
};

/// Returns the distance of the nearest box from another cell; infinity if there is none.
float nearest_of(const Seen& one, const std::vector<Seen>& all) {
  float nearest = std::numeric_limits<float>::infinity();
  for (const Seen& other : all)
    if (one.cell_x != other.cell_x || one.cell_y != other.cell_y)
      nearest = std::min(nearest, std::max(std::abs(one.x - other.x), std::abs(one.y - other.y)));
  return nearest;
}

/// Returns the boxes whose logit is above 0.
std::vector<Seen> seen_objects(const Layout& layout, std::span<const TensorView> tensors,
                               Size input) {
  const DetectorSpec& spec = *layout.spec;
  const Field &box = layout[FieldId::kBox], &scores = layout[FieldId::kScores];
  const TensorView &boxes = tensors[static_cast<size_t>(box.tensor)],
                   &logits = tensors[static_cast<size_t>(scores.tensor)];
  const auto side = static_cast<float>(input.width);
  std::vector<Seen> out;
  uint32_t anchor = 0;
  for (uint32_t level = 0; level < layout.levels; ++level) {
    const auto stride = static_cast<float>(spec.strides[level]);
    const Size cells = level_cells(input, spec.strides[level]);
    const uint32_t each = spec.anchors_of(level);
    for (uint32_t i = 0; i < cells.width * cells.height * each; ++i, ++anchor) {
      if (!(load(logits, scores.at(0, anchor)) > 0) || out.size() == kMaxSeen) continue;
      const auto at = [&](uint32_t channel) { return load(boxes, box.at(0, anchor, channel)); };
      const uint32_t cell = i / each;
      const float x = (static_cast<float>(cell % cells.width) + spec.cell_offset) * stride,
                  y = (static_cast<float>(cell / cells.width) + spec.cell_offset) * stride;
      out.push_back({x, y, (x + at(0)) / side, (y + at(1)) / side});
    }
  }
  return out;
}

}  // namespace

std::optional<float> spread_of(const Layout& layout, std::span<const TensorView> tensors,
                               Size input) {
  const DetectorSpec& spec = *layout.spec;
  const bool table = spec.coding == BoxCoding::kGridPixels && spec.interleaved &&
                     layout.grids.empty() && layout.classes == 1;
  if (!table || !in_bounds(layout, tensors) ||
      grid_anchors(input, spec, layout.levels) != layout.anchors ||
      ranges(layout, FieldId::kBox, 2, tensors).empty() ||
      ranges(layout, FieldId::kScores, 1, tensors).empty())
    return std::nullopt;
  const std::vector<Seen> seen = seen_objects(layout, tensors, input);
  std::vector<float> distances;
  for (const Seen& each : seen) distances.push_back(nearest_of(each, seen));
  if (distances.empty()) return std::nullopt;
  const auto middle = distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return std::isfinite(*middle) ? std::optional(*middle) : std::nullopt;
}

}  // namespace keepbox
