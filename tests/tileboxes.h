// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of tiles without a model: a runner that returns given boxes, and a plan for it.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/backend.h"

namespace keepbox::test {

/// Boxes of each tile, best first.
struct TileBoxes final : Runner {
  std::vector<std::vector<Detection>> tiles;
  std::vector<Funnel> funnels;

  Status run(const Plan&, std::span<const TensorView>, const Stop&) override { return {}; }
  Status retune(const Plan&) override { return {}; }
  std::span<const Detection> detections(uint32_t image) const override { return tiles[image]; }
  const Funnel& funnel(uint32_t image) const override { return funnels[image]; }
  PayloadOutput payload(uint32_t) const override { return {}; }

  /// Sorts the boxes of each tile, counts them, and gives each an anchor of its own.
  void finish() {
    funnels.clear();
    uint32_t anchor = 0;
    for (auto& boxes : tiles) {
      std::ranges::stable_sort(boxes, std::greater{}, &Detection::score);
      for (Detection& each : boxes) each.anchor = anchor++;
      funnels.push_back({.kept = static_cast<uint32_t>(boxes.size())});
    }
  }
};

/// Returns a plan of upright boxes for the tiles of a frame, with space for `capacity` boxes each.
inline Plan plan_of_tiles(Size frame, const TileGrid& grid, uint32_t capacity, uint32_t classes) {
  Plan out;
  const auto areas = tile_areas({.size = frame}, grid);
  for (const PixelArea& each : *areas)
    out.tiles.push_back(tile_of(each, frame, {.frame = each.size, .model = each.size}));
  out.letterbox = out.tiles.front().letterbox;
  out.layout.images = static_cast<uint32_t>(out.tiles.size());
  out.rules.kept_capacity = capacity;
  out.rules.class_ids = classes;
  out.tile_detections = out.tile_class_limit = std::numeric_limits<uint32_t>::max();
  return out;
}

}  // namespace keepbox::test
