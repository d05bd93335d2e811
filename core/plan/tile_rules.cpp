// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks the tiles of a frame and the rules by which their boxes become one per object.
#include "core/plan/tile_rules.h"

#include <algorithm>
#include <format>
#include <limits>

#include "core/recognition/family_text.h"

namespace keepbox {

Status settle_tile_rules(Plan& plan, const Settings& settings) {
  if (settings.tile_rules.united && plan.rules.oriented)
    return reject(ErrorKind::kInvalid, "tile-union=true is not possible with oriented boxes",
                  "set tile-union=false");
  plan.tile_rules = settings.tile_rules;
  return {};
}

Status settle_tiles(Plan& plan, const Settings& settings, Size frame) {
  if (settings.tiles.empty()) return {};
  if (settings.tiles.size() != plan.layout.images)
    return reject(
        ErrorKind::kMismatch,
        std::format("The frame has {}, but the tensors are of {}",
                    counted(settings.tiles.size(), "tile"), counted(plan.layout.images, "image")),
        "export the model with outputs per picture, or leave tiles= and tile-size= of "
        "tensorinfer unset");
  for (const Tile& each : settings.tiles) plan.tiles.push_back(scaled_to(each, frame));
  KB_TRY(settle_tile_rules(plan, settings));
  const bool per_class = plan.rules.contract.per_class_limit;
  constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();
  plan.tile_detections = per_class ? kNoLimit : settings.max_detections;
  plan.tile_class_limit = per_class ? settings.max_detections : kNoLimit;
  if (settings.class_top_k != 0)
    plan.tile_class_limit = std::min(plan.tile_class_limit, settings.class_top_k);
  return {};
}

}  // namespace keepbox
