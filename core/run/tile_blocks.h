// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of tiles in blocks, whose overlaps with a box are computed together.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/base/scratch.h"
#include "core/formula/box.h"
#include "core/formula/oriented.h"
#include "core/plan/plan.h"
#include "core/run/box_grid.h"

namespace keepbox {

/// True if two upright boxes overlap by more than the threshold; false for boxes without area.
bool overlaps(const Box& a, const Box& b, const TileRules& rules);

/// Suppresses boxes by slot.
class TileBlocks {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Reserves memory for that many boxes. @param hint how to use less.
  Status grow(size_t boxes, bool oriented, const char* hint);

  /// Begins with that many boxes, each of which is then to be put() in a slot.
  void begin(const Plan& plan, size_t boxes);
  /// @param bounds the upright bounding box.
  void put(uint32_t slot, const Detection& box, const Box& bounds, uint32_t tile);

  /// Returns the number of the box that suppresses the one in a slot, or kNone.
  uint32_t suppressor(uint32_t slot) const { return block(slot).suppressor[slot % kLanes]; }

  /// Lets the box in a slot suppress those in a grid that nothing suppresses yet.
  /// @param number of this box, which is not kNone.
  void suppress(const BoxGrid& grid, uint32_t slot, uint32_t number);

 private:
  static constexpr uint32_t kLanes = 4;

  struct Block {
    float x1[kLanes], y1[kLanes], x2[kLanes], y2[kLanes], area[kLanes];
    uint32_t tile[kLanes], class_id[kLanes];  // 0 if all classes suppress each other
    uint32_t suppressor[kLanes];              // of kept boxes, themselves
  };

  /// A box that suppresses others.
  struct Best {
    Box bounds;
    float area = 0;
    uint32_t slot = 0, tile = 0, class_id = 0, number = 0;
  };

  const Block& block(uint32_t slot) const { return at_[slot / kLanes]; }
  Best best(uint32_t slot, uint32_t number) const;
  template <bool kSmaller>
  void upright(const Best& better, BoxGrid::Range slots);
  void oriented(const Best& better, BoxGrid::Range slots);

  TileRules rules_;
  bool oriented_ = false, any_class_ = false;
  ScratchBuffer<Block> memory_;
  ScratchBuffer<OrientedShape> shapes_;  // by slot
  Block* at_ = nullptr;
};

}  // namespace keepbox
