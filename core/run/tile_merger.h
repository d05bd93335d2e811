// SPDX-License-Identifier: LGPL-2.1-or-later
// Merges the boxes of a frame's tiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/scratch.h"
#include "core/base/threads.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/formula/oriented.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/payload.h"

namespace keepbox {

// Finds boxes that are near each other on a frame.

/// Orders boxes by their places, so that those near a box are in a few ranges. Each is in one cell,
/// that of its upper left corner, of one of several grids, by its size.
class BoxGrid {
 public:
  /// Consecutive slots.
  struct Range {
    uint32_t first, end;
  };

  /// Reserves memory for that many boxes. @param hint how to use less.
  Status grow(size_t boxes, const char* hint);

  /// Gives each box a slot, 0 .. boxes.size() - 1. Boxes need not be on the frame.
  /// @pre grow() was called for as many boxes, and slots.size() == boxes.size().
  void fill(std::span<const Box> boxes, Size frame, std::span<uint32_t> slots);

  /// Calls visit(Range) for slots of all boxes that touch() this one, and of others.
  template <class Visit>
  void each_near(const Box& box, Visit visit) const {
    for (const Level& level : levels_) {
      if (level.count == 0) continue;
      const Cells at = level.cells(box);
      const int32_t left = larger_of(at.x1 - level.span_x, 0);
      for (int32_t y = larger_of(at.y1 - level.span_y, 0); y <= at.y2; ++y) {
        const uint32_t* const row = ends_ + level.first + y * level.columns;
        if (row[left] < row[at.x2 + 1]) visit(Range{row[left], row[at.x2 + 1]});
      }
    }
  }

 private:
  static constexpr size_t kLevels = 3;

  /// The cells of two corners.
  struct Cells {
    int32_t x1, y1, x2, y2;
  };

  /// A grid.
  struct Level {
    float per_side = 0;            // 1 / side of a cell
    float last_x = 0, last_y = 0;  // column and row
    int32_t columns = 1, first = 0;
    int32_t span_x = 0, span_y = 0;  // most cells from the first to the last of a box
    uint32_t count = 0;              // boxes

    Cells cells(const Box& box) const {
      return {cell(box.x1, last_x), cell(box.y1, last_y), cell(box.x2, last_x),
              cell(box.y2, last_y)};
    }
    int32_t cell(float at, float last) const {
      return static_cast<int32_t>(larger(smaller(at * per_side, last), 0.0f));
    }
  };

  static int32_t larger_of(int32_t a, int32_t b) { return a > b ? a : b; }
  void fill_few(std::span<uint32_t> slots);
  uint32_t lay_out(float side, Size frame);
  uint32_t enter(const Box& box, float side);

  Level levels_[kLevels];
  ScratchBuffer<uint32_t> memory_;
  uint32_t* ends_ = nullptr;  // of the slots before each cell, cells row by row
};

// Boxes of tiles in blocks, whose overlaps with a box are computed together.

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

// Joins the boxes of a frame's tiles.

/// Keeps one box per object of overlapping tiles. Each tile's boxes were suppressed by the plan's
/// method already; here boxes of a class (of any class if NMS is class-agnostic) suppress those of
/// other tiles, greedily: whole boxes before boxes that are cut by an inner edge of their tile, and
/// the higher score first; tile and rank in the tile decide between equal scores. A box of a tile
/// never suppresses one of the same tile. Of several boxes that overlap with one, the first
/// suppresses it; if the rules unite boxes, it is extended to enclose it, while their overlap still
/// exceeds the threshold. Suppression is decided by the boxes before extension. Host code, the
/// same for all backends.
class TileMerger {
 public:
  /// Returns kNoResource if the memory for the plan is not available.
  static Result<TileMerger> create(const Plan& plan);

  /// Joins the boxes and payloads of all images. @param stages one per image, or none if boxes have
  /// no payload; valid as long as the results. @return kInterrupted if stopped.
  Status run(const Plan& plan, const Runner& runner, std::span<const PayloadStage> stages,
             const Stop& stop);

  /// Returns the boxes, best first, up to max-detections. Valid until the next run, as below.
  std::span<const Detection> detections() const { return detections_out_; }
  std::span<const float> payload() const { return values_out_; }
  std::span<const Mask> masks() const { return masks_; }
  /// Returns the sums of all tiles.
  const Funnel& funnel() const { return funnel_; }

 private:
  /// Tile and rank of a box.
  struct Source {
    const Detection* box;
    uint32_t tile, index;  // rank in the tile
  };

  void list(const Plan& plan, const Runner& runner);
  void list_tile(const Plan& plan, uint32_t tile, std::span<const Detection> boxes);
  void index(const Plan& plan);
  Status suppress(const Plan& plan, const Stop& stop);
  void extend(uint32_t kept, uint32_t dropped, const TileRules& rules);
  std::span<const uint32_t> best(const Plan& plan);
  void copy_best(const Plan& plan, std::span<const PayloadStage> stages);

  size_t max_boxes_ = 0;  // boxes that are kept
  // By number: tile by tile, in order of rank.
  ScratchBuffer<Source> sources_;
  ScratchBuffer<Box> bounds_;  // upright; growing with united boxes
  ScratchBuffer<uint32_t> slots_;
  uint32_t count_ = 0;
  // Keys of score and number, in order; after suppress(), of kept boxes.
  ScratchBuffer<uint64_t> whole_keys_, cut_keys_, spare_keys_, kept_keys_;
  std::span<uint64_t> whole_, cut_;
  std::vector<uint32_t> whole_ends_, cut_ends_;  // by tile
  BoxGrid grid_;
  TileBlocks blocks_;
  ScratchBuffer<uint32_t> best_;       // numbers
  std::vector<uint32_t> class_count_;  // by class
  ScratchBuffer<Detection> detections_;
  ScratchBuffer<float> values_;
  std::vector<Mask> masks_;
  std::span<const Detection> detections_out_;
  std::span<const float> values_out_;
  Funnel funnel_;
};

}  // namespace keepbox
