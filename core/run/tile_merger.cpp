// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppresses boxes across tiles, and collects the remaining ones.
#include "core/run/tile_merger.h"

#include <algorithm>

#include "core/formula/oriented.h"

namespace keepbox {
namespace {

constexpr const char* kFewerTiles = "lower max-detections, or set fewer tiles";

/// True if a box ends at an inner edge of its tile.
bool is_cut(const Box& box, const Tile& tile, float border) {
  if (border < 0) return false;
  const float x = border * tile.letterbox.scale_x, y = border * tile.letterbox.scale_y;
  const auto right = static_cast<float>(tile.letterbox.frame.width);
  const auto bottom = static_cast<float>(tile.letterbox.frame.height);
  const Box& area = tile.area;
  return (area.x1 > 0 && box.x1 <= area.x1 + x) || (area.y1 > 0 && box.y1 <= area.y1 + y) ||
         (area.x2 < right && box.x2 >= area.x2 - x) || (area.y2 < bottom && box.y2 >= area.y2 - y);
}

float upright_area(const Box& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); }

float upright_intersection(const Box& a, const Box& b) {
  const float width = smaller(a.x2, b.x2) - larger(a.x1, b.x1);
  const float height = smaller(a.y2, b.y2) - larger(a.y1, b.y1);
  return larger(width, 0.0f) * larger(height, 0.0f);
}

Box united(const Box& a, const Box& b) {
  return {smaller(a.x1, b.x1), smaller(a.y1, b.y1), larger(a.x2, b.x2), larger(a.y2, b.y2)};
}

/// True if the overlap of two boxes exceeds the threshold; false for boxes without area.
bool overlaps(const Detection& a, const Detection& b, bool oriented, const TileRules& rules) {
  float intersection = 0, area_a = 0, area_b = 0;
  if (oriented) {
    const OrientedShape x = Oriented::moved(a.box, a.angle, 0);
    const OrientedShape y = Oriented::moved(b.box, b.angle, 0);
    area_a = Oriented::area(x, {}), area_b = Oriented::area(y, {});
    intersection = smaller(OrientedPolygon::intersection(x, y), smaller(area_a, area_b));
  } else {
    area_a = upright_area(a.box), area_b = upright_area(b.box);
    intersection = upright_intersection(a.box, b.box);
  }
  const float denominator =
      rules.merge == TileMerge::kIos ? smaller(area_a, area_b) : (area_a + area_b) - intersection;
  return intersection / denominator > rules.threshold;
}

}  // namespace

Result<TileMerger> TileMerger::create(const Plan& plan) {
  TileMerger out;
  const size_t all = size_t{plan.layout.images} * plan.rules.kept_capacity;
  out.max_boxes_ = std::min(all, size_t{plan.tile_detections});
  KB_TRY(out.memory_.grow(all, kFewerTiles));
  KB_TRY(out.kept_of_.grow(all, kFewerTiles));
  out.groups_.resize(plan.layout.images);
  out.class_count_.resize(plan.rules.class_ids);
  KB_TRY(out.detections_.grow(out.max_boxes_, kFewerTiles));
  KB_TRY(out.values_.grow(out.max_boxes_ * plan.payload.count, kFewerTiles));
  if (plan.payload.has(Moves::kAsMask)) out.masks_.reserve(out.max_boxes_);
  return out;
}

Status TileMerger::run(const Plan& plan, const Runner& runner, std::span<const PayloadStage> stages,
                       const Stop& stop) {
  list(plan, runner);
  KB_TRY(suppress(plan, runner, stop));
  copy_best(plan, runner, stages);
  return {};
}

/// Lists the boxes in the order of suppression.
void TileMerger::list(const Plan& plan, const Runner& runner) {
  size_t count = 0;
  funnel_ = {};
  for (uint32_t image = 0; image < plan.layout.images; ++image) {
    funnel_ += runner.funnel(image);
    const auto boxes = runner.detections(image);
    for (uint32_t i = 0; i < boxes.size(); ++i) {
      const Detection& each = boxes[i];
      const Box bounds = plan.rules.oriented ? around_oriented(each.box, each.angle) : each.box;
      const bool cut = is_cut(bounds, plan.tiles[image], plan.tile_rules.border);
      memory_.data()[count++] = {image, i, each.score, cut, each.class_id, bounds};
    }
  }
  entries_ = memory_.first(count);
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    if (a.cut != b.cut) return b.cut;
    if (a.score != b.score) return a.score > b.score;
    return a.image != b.image ? a.image < b.image : a.index < b.index;
  });
}

/// Returns the first kept box of another tile that suppresses the box, or nullptr. Any of them if
/// boxes are not united.
TileMerger::Entry* TileMerger::suppressor_of(const Plan& plan, const Runner& runner,
                                             const Entry& entry) {
  const bool any_class = plan.rules.contract.class_agnostic;
  const auto box_of = [&](const Entry& of) { return runner.detections(of.image)[of.index]; };
  Entry* first = nullptr;
  for (uint32_t image = 0; image < groups_.size(); ++image) {
    const Group& group = groups_[image];
    if (image == entry.image || group.count == 0 || !touch(group.bounds, entry.bounds)) continue;
    const uint32_t* const kept = kept_of_.data() + size_t{image} * plan.rules.kept_capacity;
    for (uint32_t i = 0; i < group.count; ++i) {
      Entry& better = entries_[kept[i]];
      if ((!any_class && better.class_id != entry.class_id) ||
          !touch(better.bounds, entry.bounds) ||
          !overlaps(box_of(better), box_of(entry), plan.rules.oriented, plan.tile_rules))
        continue;
      if (first == nullptr || &better < first) first = &better;
      break;  // a tile's boxes are in order
    }
    if (first != nullptr && !plan.tile_rules.united) break;
  }
  return first;
}

/// Adds a kept box to those of its tile.
void TileMerger::keep(const Plan& plan, uint32_t number) {
  const Entry& entry = entries_[number];
  Group& group = groups_[entry.image];
  kept_of_.data()[size_t{entry.image} * plan.rules.kept_capacity + group.count] = number;
  group.bounds = group.count++ == 0 ? entry.bounds : united(group.bounds, entry.bounds);
}

/// Extends a box by one that it suppresses, unless it has grown so much that they no longer overlap
/// by the threshold.
void TileMerger::extend(Entry& kept, const Entry& dropped, const TileRules& rules) {
  if (overlaps({.box = kept.bounds}, {.box = dropped.bounds}, false, rules))
    kept.bounds = united(kept.bounds, dropped.bounds);
}

Status TileMerger::suppress(const Plan& plan, const Runner& runner, const Stop& stop) {
  if (plan.tile_rules.merge == TileMerge::kNone) return {};
  std::ranges::fill(groups_, Group{});
  uint32_t kept = 0;
  for (const Entry& each : entries_) {
    if (stop.requested())
      return reject(ErrorKind::kInterrupted, "The frame was interrupted by a stop");
    if (Entry* suppressor = suppressor_of(plan, runner, each)) {
      if (plan.tile_rules.united) extend(*suppressor, each, plan.tile_rules);
      ++funnel_.merged_away;
      continue;
    }
    entries_[kept] = each;
    keep(plan, kept++);
  }
  entries_ = entries_.first(kept);
  return {};
}

/// Returns the boxes within all limits, best first.
std::span<TileMerger::Entry> TileMerger::best(const Plan& plan) {
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.image != b.image ? a.image < b.image : a.index < b.index;
  });
  std::ranges::fill(class_count_, 0u);
  size_t count = 0;
  for (const Entry& each : entries_) {
    if (count == max_boxes_) break;
    if (class_count_[each.class_id]++ < plan.tile_class_limit) entries_[count++] = each;
  }
  funnel_.kept -= static_cast<uint32_t>(entries_.size() - count);
  return entries_.first(count);
}

/// Copies the best boxes and their payloads.
void TileMerger::copy_best(const Plan& plan, const Runner& runner,
                           std::span<const PayloadStage> stages) {
  const std::span<const Entry> best = this->best(plan);
  const size_t each = plan.payload.count;
  bool all_values = each != 0;
  masks_.clear();
  for (size_t i = 0; i < best.size(); ++i) {
    const auto [image, index] = std::pair(best[i].image, best[i].index);
    detections_.data()[i] = runner.detections(image)[index];
    if (plan.tile_rules.united) detections_.data()[i].box = best[i].bounds;
    if (stages.empty()) continue;
    const std::span<const float> values = stages[image].values();
    const bool there = values.size() >= (index + 1) * each;  // coefficients may stay on a device
    if (there) std::ranges::copy(values.subspan(index * each, each), values_.data() + i * each);
    all_values = all_values && there;
    if (!stages[image].masks().empty()) masks_.push_back(stages[image].masks()[index]);
  }
  detections_out_ = detections_.first(best.size());
  values_out_ = all_values ? values_.first(best.size() * each) : std::span<float>();
}

}  // namespace keepbox
