// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes overlaps of boxes of tiles.
#include "core/run/tile_blocks.h"

#include <algorithm>

namespace keepbox {
namespace {

float upright_area(const Box& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); }

float upright_intersection(const Box& a, const Box& b) {
  const float width = smaller(a.x2, b.x2) - larger(a.x1, b.x1);
  const float height = smaller(a.y2, b.y2) - larger(a.y1, b.y1);
  return larger(width, 0.0f) * larger(height, 0.0f);
}

/// True if an overlap exceeds the threshold.
/// @tparam kSmaller it is the part of the smaller area.
template <bool kSmaller>
bool exceeds(float intersection, float area_a, float area_b, float threshold) {
  const float denominator = kSmaller ? smaller(area_a, area_b) : (area_a + area_b) - intersection;
  return intersection / denominator > threshold;
}

bool exceeds(float intersection, float area_a, float area_b, const TileRules& rules) {
  const auto by = rules.merge == TileMerge::kIos ? exceeds<true> : exceeds<false>;
  return by(intersection, area_a, area_b, rules.threshold);
}

}  // namespace

bool overlaps(const Box& a, const Box& b, const TileRules& rules) {
  return exceeds(upright_intersection(a, b), upright_area(a), upright_area(b), rules);
}

Status TileBlocks::grow(size_t boxes, bool oriented, const char* hint) {
  KB_TRY(memory_.grow(boxes / kLanes + 1, hint));
  return oriented ? shapes_.grow(boxes, hint) : Status{};
}

void TileBlocks::begin(const Plan& plan, size_t boxes) {
  rules_ = plan.tile_rules;
  oriented_ = plan.rules.oriented;
  any_class_ = plan.rules.contract.class_agnostic;
  at_ = memory_.data();
  at_[boxes / kLanes] = {};  // the lanes after the last box suppress nothing
}

void TileBlocks::put(uint32_t slot, const Detection& box, const Box& bounds, uint32_t tile) {
  Block& out = at_[slot / kLanes];
  const uint32_t i = slot % kLanes;
  out.x1[i] = bounds.x1, out.y1[i] = bounds.y1, out.x2[i] = bounds.x2, out.y2[i] = bounds.y2;
  out.tile[i] = tile;
  out.class_id[i] = any_class_ ? 0 : box.class_id;
  out.suppressor[i] = kNone;
  if (!oriented_) {
    out.area[i] = upright_area(bounds);
    return;
  }
  OrientedShape& shape = shapes_.data()[slot];
  shape = Oriented::moved(box.box, box.angle, 0);
  out.area[i] = Oriented::area(shape, {});
}

TileBlocks::Best TileBlocks::best(uint32_t slot, uint32_t number) const {
  const Block& from = block(slot);
  const uint32_t i = slot % kLanes;
  return {{from.x1[i], from.y1[i], from.x2[i], from.y2[i]},
          from.area[i],
          slot,
          from.tile[i],
          from.class_id[i],
          number};
}

/// Compares with all boxes of blocks, since more comparisons change nothing. Without a branch,
/// compilers use vectors. Boxes that do not touch have no intersection, and exceed no threshold.
template <bool kSmaller>
void TileBlocks::upright(const Best& better, BoxGrid::Range slots) {
  const float threshold = rules_.threshold;
  for (uint32_t k = slots.first / kLanes; k <= (slots.end - 1) / kLanes; ++k) {
    Block& other = at_[k];
    for (uint32_t i = 0; i < kLanes; ++i) {
      const Box box{other.x1[i], other.y1[i], other.x2[i], other.y2[i]};
      const bool over = exceeds<kSmaller>(upright_intersection(better.bounds, box), better.area,
                                          other.area[i], threshold);
      const bool drops = over & (other.suppressor[i] == kNone) & (other.tile[i] != better.tile) &
                         (other.class_id[i] == better.class_id);
      other.suppressor[i] = drops ? better.number : other.suppressor[i];
    }
  }
}

void TileBlocks::oriented(const Best& better, BoxGrid::Range slots) {
  const OrientedShape* const shapes = shapes_.data();
  for (uint32_t slot = slots.first; slot < slots.end; ++slot) {
    Block& other = at_[slot / kLanes];
    const uint32_t i = slot % kLanes;
    const Box box{other.x1[i], other.y1[i], other.x2[i], other.y2[i]};
    if (other.suppressor[i] != kNone || other.tile[i] == better.tile ||
        other.class_id[i] != better.class_id || !touch(better.bounds, box))
      continue;
    const float most = smaller(better.area, other.area[i]);
    const float shared =
        smaller(OrientedPolygon::intersection(shapes[better.slot], shapes[slot]), most);
    if (exceeds(shared, better.area, other.area[i], rules_)) other.suppressor[i] = better.number;
  }
}

void TileBlocks::suppress(const BoxGrid& grid, uint32_t slot, uint32_t number) {
  at_[slot / kLanes].suppressor[slot % kLanes] = number;
  const Best better = best(slot, number);
  if (oriented_) grid.each_near(better.bounds, [&](auto slots) { oriented(better, slots); });
  else if (rules_.merge == TileMerge::kIos)
    grid.each_near(better.bounds, [&](auto slots) { upright<true>(better, slots); });
  else grid.each_near(better.bounds, [&](auto slots) { upright<false>(better, slots); });
}

}  // namespace keepbox
