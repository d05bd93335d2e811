// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppresses boxes across tiles, and gathers what is left.
#include "core/run/tile_merger.h"

#include <algorithm>

#include "core/formula/oriented.h"

namespace keepbox {
namespace {

constexpr const char* kFewer = "lower max-detections, or set fewer tiles";

/// True if a box ends at an inner edge of its tile.
bool is_cut(const Box& box, const Tile& tile, float border) {
  if (border < 0) return false;
  const auto right = static_cast<float>(tile.letterbox.frame.width);
  const auto bottom = static_cast<float>(tile.letterbox.frame.height);
  const Box& area = tile.area;
  return (area.x1 > 0 && box.x1 <= area.x1 + border) ||
         (area.y1 > 0 && box.y1 <= area.y1 + border) ||
         (area.x2 < right && box.x2 >= area.x2 - border) ||
         (area.y2 < bottom && box.y2 >= area.y2 - border);
}

float upright_area(const Box& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); }

float upright_common(const Box& a, const Box& b) {
  const float width = smaller(a.x2, b.x2) - larger(a.x1, b.x1);
  const float height = smaller(a.y2, b.y2) - larger(a.y1, b.y1);
  return larger(width, 0.0f) * larger(height, 0.0f);
}

/// True if the overlap of two boxes exceeds the threshold; false for boxes without area.
bool overlaps(const Detection& a, const Detection& b, bool oriented, const TileRules& rules) {
  float common = 0, area_a = 0, area_b = 0;
  if (oriented) {
    const OrientedShape x = Oriented::moved(a.box, a.angle, 0);
    const OrientedShape y = Oriented::moved(b.box, b.angle, 0);
    area_a = Oriented::area(x, {}), area_b = Oriented::area(y, {});
    common = smaller(OrientedPolygon::common(x, y), smaller(area_a, area_b));
  } else {
    area_a = upright_area(a.box), area_b = upright_area(b.box);
    common = upright_common(a.box, b.box);
  }
  const float whole =
      rules.merge == TileMerge::kIos ? smaller(area_a, area_b) : (area_a + area_b) - common;
  return common / whole > rules.threshold;
}

void add(Funnel& sum, const Funnel& each) {
  sum.anchors += each.anchors;
  sum.above_threshold += each.above_threshold;
  sum.not_finite += each.not_finite;
  sum.after_class_filter += each.after_class_filter;
  sum.after_top_k += each.after_top_k;
  sum.kept += each.kept;
  sum.clipped_away += each.clipped_away;
  sum.filtered_out += each.filtered_out;
}

}  // namespace

Result<TileMerger> TileMerger::create(const Plan& plan) {
  TileMerger out;
  const size_t all = size_t{plan.layout.images} * plan.rules.kept_capacity;
  out.most_ = std::min(all, size_t{plan.tile_detections});
  KB_TRY(out.memory_.grow(all, kFewer));
  KB_TRY(out.detections_.grow(out.most_, kFewer));
  KB_TRY(out.values_.grow(out.most_ * plan.payload.count, kFewer));
  if (plan.payload.has(Moves::kAsMask)) out.masks_.reserve(out.most_);
  return out;
}

Status TileMerger::run(const Plan& plan, const Runner& runner, std::span<const PayloadStage> stages,
                       const Stop& stop) {
  list(plan, runner);
  KB_TRY(suppress(plan, runner, stop));
  take(plan, runner, stages);
  return {};
}

/// Lists the boxes in the order of suppression.
void TileMerger::list(const Plan& plan, const Runner& runner) {
  size_t count = 0;
  funnel_ = {};
  for (uint32_t image = 0; image < plan.layout.images; ++image) {
    add(funnel_, runner.funnel(image));
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

Status TileMerger::suppress(const Plan& plan, const Runner& runner, const Stop& stop) {
  const TileRules& rules = plan.tile_rules;
  if (rules.merge == TileMerge::kNone) return {};
  const bool any_class = plan.rules.contract.class_agnostic;
  const auto box_of = [&](const Entry& of) { return runner.detections(of.image)[of.index]; };
  size_t kept = 0;
  for (const Entry& each : entries_) {
    if (stop.asked()) return fail(ErrorKind::kInterrupted, "an uninterrupted frame", "a stop");
    const bool twin = std::ranges::any_of(entries_.first(kept), [&](const Entry& better) {
      return better.image != each.image && (any_class || better.class_id == each.class_id) &&
             touch(better.bounds, each.bounds) &&
             overlaps(box_of(better), box_of(each), plan.rules.oriented, rules);
    });
    if (twin) ++funnel_.merged_away;
    else entries_[kept++] = each;
  }
  entries_ = entries_.first(kept);
  return {};
}

/// Takes the best boxes with what they carry.
void TileMerger::take(const Plan& plan, const Runner& runner,
                      std::span<const PayloadStage> stages) {
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.image != b.image ? a.image < b.image : a.index < b.index;
  });
  const auto best = entries_.first(std::min(entries_.size(), most_));
  const size_t each = plan.payload.count;
  bool all_values = each != 0;
  masks_.clear();
  for (size_t i = 0; i < best.size(); ++i) {
    const auto [image, index] = std::pair(best[i].image, best[i].index);
    detections_.data()[i] = runner.detections(image)[index];
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
