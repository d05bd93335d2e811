// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppresses boxes across tiles, and collects the remaining ones.
#include "core/run/tile_merger.h"

#include <algorithm>
#include <limits>

#include "core/formula/oriented.h"
#include "core/run/sorted_runs.h"

namespace keepbox {
namespace {

constexpr const char* kFewerTiles = "lower max-detections, or set fewer tiles";

/// Returns lines, beyond which a box of a tile is cut by an inner edge.
Box inner_edges(const Tile& tile, float border) {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  Box out{-kNever, -kNever, kNever, kNever};
  if (border < 0) return out;
  const float x = border * tile.letterbox.scale_x, y = border * tile.letterbox.scale_y;
  const Box& area = tile.area;
  if (area.x1 > 0) out.x1 = area.x1 + x;
  if (area.y1 > 0) out.y1 = area.y1 + y;
  if (area.x2 < static_cast<float>(tile.letterbox.frame.width)) out.x2 = area.x2 - x;
  if (area.y2 < static_cast<float>(tile.letterbox.frame.height)) out.y2 = area.y2 - y;
  return out;
}

bool reaches(const Box& box, const Box& edges) {
  return (box.x1 <= edges.x1) | (box.y1 <= edges.y1) | (box.x2 >= edges.x2) | (box.y2 >= edges.y2);
}

Box united(const Box& a, const Box& b) {
  return {smaller(a.x1, b.x1), smaller(a.y1, b.y1), larger(a.x2, b.x2), larger(a.y2, b.y2)};
}

uint32_t number_of(uint64_t key) { return static_cast<uint32_t>(key); }

}  // namespace

Result<TileMerger> TileMerger::create(const Plan& plan) {
  TileMerger out;
  const size_t all = size_t{plan.layout.images} * plan.rules.kept_capacity;
  out.max_boxes_ = std::min(all, size_t{plan.tile_detections});
  KB_TRY(out.sources_.grow(all, kFewerTiles));
  KB_TRY(out.bounds_.grow(all, kFewerTiles));
  KB_TRY(out.slots_.grow(all, kFewerTiles));
  for (auto* keys : {&out.whole_keys_, &out.cut_keys_, &out.spare_keys_, &out.kept_keys_})
    KB_TRY(keys->grow(all, kFewerTiles));
  out.whole_ends_.resize(plan.layout.images);
  out.cut_ends_.resize(plan.layout.images);
  KB_TRY(out.grid_.grow(all, kFewerTiles));
  KB_TRY(out.blocks_.grow(all, plan.rules.oriented, kFewerTiles));
  out.class_count_.resize(plan.rules.class_ids);
  KB_TRY(out.best_.grow(out.max_boxes_, kFewerTiles));
  KB_TRY(out.detections_.grow(out.max_boxes_, kFewerTiles));
  KB_TRY(out.values_.grow(out.max_boxes_ * plan.payload.count, kFewerTiles));
  if (plan.payload.has(Moves::kAsMask)) out.masks_.reserve(out.max_boxes_);
  return out;
}

Status TileMerger::run(const Plan& plan, const Runner& runner, std::span<const PayloadStage> stages,
                       const Stop& stop) {
  list(plan, runner);
  if (plan.tile_rules.merge != TileMerge::kNone) KB_TRY(suppress(plan, stop));
  copy_best(plan, stages);
  return {};
}

/// Lists the boxes in the order of suppression.
void TileMerger::list(const Plan& plan, const Runner& runner) {
  count_ = 0;
  funnel_ = {};
  whole_ = cut_ = {};
  for (uint32_t tile = 0; tile < plan.layout.images; ++tile) {
    funnel_ += runner.funnel(tile);
    list_tile(plan, tile, runner.detections(tile));
  }
  const size_t whole = whole_ends_.back(), cut = cut_ends_.back();
  const auto spare = spare_keys_.first(count_);
  whole_ = sort_runs(whole_keys_.first(whole), spare.first(whole), whole_ends_);
  cut_ = sort_runs(cut_keys_.first(cut), spare.subspan(whole), cut_ends_);
}

/// Appends the boxes of a tile to the two lists, each a sorted run.
void TileMerger::list_tile(const Plan& plan, uint32_t tile, std::span<const Detection> boxes) {
  uint32_t whole = tile == 0 ? 0 : whole_ends_[tile - 1], cut = count_ - whole;
  const Box edges = boxes.empty() ? Box{} : inner_edges(plan.tiles[tile], plan.tile_rules.border);
  uint64_t *const whole_keys = whole_keys_.data(), *const cut_keys = cut_keys_.data();
  for (uint32_t i = 0; i < boxes.size(); ++i, ++count_) {
    const Detection& each = boxes[i];
    const Box bounds = plan.rules.oriented ? around_oriented(each.box, each.angle) : each.box;
    sources_.data()[count_] = {&each, tile, i};
    bounds_.data()[count_] = bounds;
    const bool is_cut = reaches(bounds, edges);
    whole_keys[whole] = cut_keys[cut] = with_score(count_, each.score);
    whole += is_cut ? 0 : 1, cut += is_cut ? 1 : 0;
  }
  whole_ends_[tile] = whole, cut_ends_[tile] = cut;
}

/// Prepares the search for boxes near one.
void TileMerger::index(const Plan& plan) {
  grid_.fill(bounds_.first(count_), plan.tiles.front().letterbox.frame, slots_.first(count_));
  blocks_.begin(plan, count_);
  for (uint32_t i = 0; i < count_; ++i) {
    const Source& from = sources_.data()[i];
    blocks_.put(slots_.data()[i], *from.box, bounds_.data()[i], from.tile);
  }
}

/// Extends a box by one that it suppresses, unless it has grown so much that they no longer overlap
/// by the threshold.
void TileMerger::extend(uint32_t kept, uint32_t dropped, const TileRules& rules) {
  Box& box = bounds_.data()[kept];
  const Box& other = bounds_.data()[dropped];
  if (overlaps(box, other, rules)) box = united(box, other);
}

Status TileMerger::suppress(const Plan& plan, const Stop& stop) {
  index(plan);
  for (std::span<uint64_t>* keys : {&whole_, &cut_}) {
    size_t kept = 0;
    for (const uint64_t key : *keys) {
      if (stop.requested())
        return reject(ErrorKind::kInterrupted, "The frame was interrupted by a stop");
      const uint32_t number = number_of(key), slot = slots_.data()[number];
      if (const uint32_t by = blocks_.suppressor(slot); by != TileBlocks::kNone) {
        if (plan.tile_rules.united) extend(by, number, plan.tile_rules);
        ++funnel_.merged_away;
        continue;
      }
      blocks_.suppress(grid_, slot, number);
      (*keys)[kept++] = key;
    }
    *keys = keys->first(kept);
  }
  return {};
}

/// Returns the numbers of the boxes within all limits, best first.
std::span<const uint32_t> TileMerger::best(const Plan& plan) {
  const size_t all = whole_.size() + cut_.size();
  const auto keys = kept_keys_.first(all);
  merge_runs(whole_, cut_, keys);
  std::ranges::fill(class_count_, 0u);
  size_t count = 0;
  for (const uint64_t key : keys) {
    if (count == max_boxes_) break;
    const uint32_t number = number_of(key), id = sources_.data()[number].box->class_id;
    if (class_count_[id]++ < plan.tile_class_limit) best_.data()[count++] = number;
  }
  funnel_.kept -= static_cast<uint32_t>(all - count);
  return best_.first(count);
}

/// Copies the best boxes and their payloads.
void TileMerger::copy_best(const Plan& plan, std::span<const PayloadStage> stages) {
  const std::span<const uint32_t> best = this->best(plan);
  const size_t each = plan.payload.count;
  bool all_values = each != 0;
  masks_.clear();
  for (size_t i = 0; i < best.size(); ++i) {
    const auto [box, tile, index] = sources_.data()[best[i]];
    detections_.data()[i] = *box;
    if (plan.tile_rules.united) detections_.data()[i].box = bounds_.data()[best[i]];
    if (stages.empty()) continue;
    const std::span<const float> values = stages[tile].values();
    const bool there = values.size() >= (index + 1) * each;  // coefficients may stay on a device
    if (there) std::ranges::copy(values.subspan(index * each, each), values_.data() + i * each);
    all_values = all_values && there;
    if (!stages[tile].masks().empty()) masks_.push_back(stages[tile].masks()[index]);
  }
  detections_out_ = detections_.first(best.size());
  values_out_ = all_values ? values_.first(best.size() * each) : std::span<float>();
}

}  // namespace keepbox
