// SPDX-License-Identifier: LGPL-2.1-or-later
// Size and region filters on the grid of the boxes, so that boxes are exactly at the limits.
#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

constexpr int kCells = 32, kCell = 20;  // of the model input

float on_grid(Random& random, int low, int high) { return float(pick(random, low, high) * kCell); }

/// Boxes on the grid, some across the border of the picture.
std::vector<Row> tiles(Random& random, int count, int classes) {
  std::vector<Row> out;
  for (int i = 0; i < count; ++i) {
    const float x = on_grid(random, -2, kCells), y = on_grid(random, -2, kCells);
    out.push_back({x, y, x + on_grid(random, 1, 6), y + on_grid(random, 1, 6),
                   uniform(random, 0.3f, 1), float(pick(random, 0, classes - 1))});
  }
  return out;
}

/// A maximum size in cells; sometimes no limit.
BoxSize size_on(Random& random, float scale, int most) {
  return {on_grid(random, 0, most) * scale, on_grid(random, 0, most) * scale};
}

std::vector<Region> regions_on(Random& random, float scale, int most) {
  std::vector<Region> out;
  for (int i = pick(random, 0, most); i > 0; --i) {
    const float x = on_grid(random, 0, 20), y = on_grid(random, 0, 20);
    const Box box{x * scale, y * scale, (x + on_grid(random, 1, 12)) * scale,
                  (y + on_grid(random, 1, 12)) * scale};
    const float whole = float(kCells * kCell) * scale;  // a cell is 1/32 of it, exact in float
    const bool fractions = pick(random, 0, 1) != 0;
    out.push_back(fractions
                      ? Region{{box.x1 / whole, box.y1 / whole, box.x2 / whole, box.y2 / whole}, 1}
                      : Region{box});
  }
  return out;
}

/// @param scale frame pixels per model pixel.
void filter(Random& random, FilterSettings& filters, float scale) {
  constexpr RegionRule kRules[] = {RegionRule::kCenter, RegionRule::kInside, RegionRule::kTouch};
  if (pick(random, 0, 2) == 0) filters.min_size.all = size_on(random, scale, 3);
  if (pick(random, 0, 2) == 0)
    filters.max_size.all = {4 * kCell * scale, on_grid(random, 3, 6) * scale};
  if (pick(random, 0, 1)) {
    filters.min_size.of_class = {{1, size_on(random, scale, 2)}, {3, size_on(random, scale, 6)}};
    filters.max_size.of_class = {{2, size_on(random, scale, 5)}, {kMaxClasses - 1, {1, 1}}};
  }
  if (pick(random, 0, 3)) filters.regions = regions_on(random, scale, 5);
  if (pick(random, 0, 1)) filters.excluded = regions_on(random, scale, 3);
  filters.rule = kRules[pick(random, 0, 2)];
}

Input filtered(Random& random, int boxes) {
  Input input = ready(tiles(random, boxes, 5), uniform(random, 0.2f, 1));
  const uint32_t scale = 1u << pick(random, 0, 2);
  input.settings.model_size = {640, 640};
  input.settings.frame.size = {640 * scale, 640 * scale};
  filter(random, input.settings.filters, float(scale));
  if (pick(random, 0, 2) == 0)
    input.settings.max_detections = static_cast<uint32_t>(pick(random, 1, boxes / 2));
  if (pick(random, 0, 5) == 0) input.settings.nms_contract = "onnx";
  return input;
}

Input filters(Random& random) { return filtered(random, pick(random, 40, 200)); }
Input filtered_crowd(Random& random) { return filtered(random, pick(random, 3000, 6000)); }

constexpr Family kFilterFamilies[] = {
    {"filters", "boxes at a limit of size or on a region's edge decided the other way", filters},
    {"filtered-crowd", "boxes that are dropped among very many", filtered_crowd, 10},
};

}  // namespace

std::span<const Family> filter_families() { return kFilterFamilies; }

}  // namespace keepbox::test
