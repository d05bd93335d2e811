// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes the best anchors of tables of boxes in pixels relative to cells.
#include "core/recognition/row_checks.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/recognition/grid.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

constexpr size_t kMaxSeen = 256;      // anchors that are compared
constexpr float kSameObject = 0.15f;  // distance of centres of one object, as a share of its width

/// The box of an anchor, in fractions of the input.
struct Seen {
  float cell_x, cell_y, x, y, width;
};

bool same_cell(const Seen& a, const Seen& b) {
  return a.cell_x == b.cell_x && a.cell_y == b.cell_y;
}

bool agree(const Seen& a, const Seen& b) {
  return std::max(std::abs(a.x - b.x), std::abs(a.y - b.y)) < kSameObject * a.width;
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
      out.push_back({x, y, (x + at(0)) / side, (y + at(1)) / side, at(2) / side});
    }
  }
  return out;
}

}  // namespace

std::optional<float> agreement_of(const Layout& layout, std::span<const TensorView> tensors,
                                  Size input) {
  const DetectorSpec& spec = *layout.spec;
  const bool table = spec.coding == BoxCoding::kGridPixels && spec.interleaved &&
                     layout.grids.empty() && layout.classes == 1;
  if (!table || grid_anchors(input, spec, layout.levels) != layout.anchors ||
      ranges(layout, FieldId::kBox, 4, tensors).empty() ||
      ranges(layout, FieldId::kScores, 1, tensors).empty())
    return std::nullopt;
  const std::vector<Seen> seen = seen_objects(layout, tensors, input);
  if (seen.empty()) return std::nullopt;
  const auto count = std::ranges::count_if(seen, [&](const Seen& one) {
    return std::ranges::any_of(
        seen, [&](const Seen& other) { return !same_cell(one, other) && agree(one, other); });
  });
  return static_cast<float>(count) / static_cast<float>(seen.size());
}

}  // namespace keepbox
