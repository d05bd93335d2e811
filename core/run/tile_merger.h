// SPDX-License-Identifier: LGPL-2.1-or-later
// Joins the boxes of a frame's tiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/scratch.h"
#include "core/base/stop.h"
#include "core/formula/box.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/box_grid.h"
#include "core/run/masks.h"
#include "core/run/payload_stage.h"
#include "core/run/tile_blocks.h"

namespace keepbox {

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
