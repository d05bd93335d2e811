// SPDX-License-Identifier: LGPL-2.1-or-later
// Merges the boxes of a frame's tiles.
#include "core/run/tile_merger.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace keepbox {

inline constexpr size_t kFewKeys = 16;  // sorted without regard to runs

/// Merges two sorted runs of unique keys. @pre out.size() == a.size() + b.size()
inline void merge_runs(std::span<const uint64_t> a, std::span<const uint64_t> b,
                       std::span<uint64_t> out) {
  const uint64_t *x = a.data(),
                 *y = b.data(), *const x_end = x + a.size(), *const y_end = y + b.size();
  uint64_t* to = out.data();
  while (x != x_end && y != y_end) {  // without a branch on keys, which are in no order
    const uint64_t first = *x, second = *y;
    const bool other = second < first;
    *to++ = other ? second : first;
    x += other ? 0 : 1;
    y += other ? 1 : 0;
  }
  to = std::copy(x, x_end, to);
  std::copy(y, y_end, to);
}

/// Sorts keys that consist of sorted runs.
/// @param ends of the runs, the last one keys.size(); overwritten.
/// @param spare as many keys. @return the one of the two that is sorted.
inline std::span<uint64_t> sort_runs(std::span<uint64_t> keys, std::span<uint64_t> spare,
                                     std::span<uint32_t> ends) {
  if (keys.size() <= kFewKeys) {
    std::ranges::sort(keys);
    return keys;
  }
  for (size_t runs = ends.size(); runs > 1; runs = (runs + 1) / 2) {
    uint32_t begin = 0;
    for (size_t i = 0; i < runs; i += 2) {
      const uint32_t middle = ends[i], end = ends[i + 1 < runs ? i + 1 : i];
      merge_runs(keys.subspan(begin, middle - begin), keys.subspan(middle, end - middle),
                 spare.subspan(begin, end - begin));
      ends[i / 2] = begin = end;
    }
    std::swap(keys, spare);
  }
  return keys;
}

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

namespace {

constexpr size_t kFew = 48;  // boxes that are faster without cells
constexpr float kCellsPerBox = 2;
constexpr float kCellsPerSide = 4;  // of a level, per cell of the next

float side_of(const Box& box) { return larger(box.x2 - box.x1, box.y2 - box.y1); }

/// Returns about the geometric mean of sides: bits are nearly logarithms.
float usual_side(std::span<const Box> boxes) {
  uint64_t sum = 0;
  for (const Box& each : boxes) sum += float_bits(larger(side_of(each), 1.0f));
  return float_from_bits(static_cast<uint32_t>(sum / boxes.size()));
}

/// Returns the least side of cells so that there are about that many on the frame.
float least_side(Size frame, float cells) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  return larger(square_root(width * height / cells), (width + height) / cells);
}

}  // namespace

// Cells of the first level are at most 2 kCellsPerBox per box and one more; of the others, fewer.
Status BoxGrid::grow(size_t boxes, const char* hint) {
  return memory_.grow(boxes * static_cast<size_t>(3 * kCellsPerBox) + 8, hint);
}

/// Sizes the levels. @return the number of cells.
uint32_t BoxGrid::lay_out(float side, Size frame) {
  int32_t cells = 0;
  for (Level& level : levels_) {
    level = {.per_side = 1 / side, .first = cells};
    const auto last_column = static_cast<int32_t>(static_cast<float>(frame.width) / side);
    const auto last_row = static_cast<int32_t>(static_cast<float>(frame.height) / side);
    level.last_x = static_cast<float>(last_column), level.last_y = static_cast<float>(last_row);
    level.columns = last_column + 1;
    cells += level.columns * (last_row + 1);
    side *= kCellsPerSide;
  }
  return static_cast<uint32_t>(cells);
}

/// Adds a box to its level. @return its cell.
uint32_t BoxGrid::enter(const Box& box, float side) {
  const float own = side_of(box);
  Level& level = levels_[(own > side ? 1 : 0) + (own > side * kCellsPerSide ? 1 : 0)];
  const Cells at = level.cells(box);
  level.span_x = larger_of(level.span_x, at.x2 - at.x1);
  level.span_y = larger_of(level.span_y, at.y2 - at.y1);
  ++level.count;
  return static_cast<uint32_t>(level.first + at.y1 * level.columns + at.x1);
}

/// Puts all boxes in one cell.
void BoxGrid::fill_few(std::span<uint32_t> slots) {
  for (Level& level : levels_) level.count = 0;
  std::iota(slots.begin(), slots.end(), 0u);
  ends_ = memory_.data();
  ends_[0] = 0;
  ends_[1] = static_cast<uint32_t>(slots.size());
  levels_[0] = {.count = ends_[1]};
}

void BoxGrid::fill(std::span<const Box> boxes, Size frame, std::span<uint32_t> slots) {
  if (boxes.size() <= kFew) return fill_few(slots);
  const auto most_cells = static_cast<float>(boxes.size()) * kCellsPerBox;
  const float side = larger(2 * usual_side(boxes), least_side(frame, most_cells));
  const uint32_t cells = lay_out(side, frame);
  uint32_t* const counts = memory_.data();  // of cell c at c + 1
  std::ranges::fill(memory_.first(cells + 2), 0u);
  for (size_t i = 0; i < boxes.size(); ++i) ++counts[(slots[i] = enter(boxes[i], side)) + 2];
  for (uint32_t i = 2; i < cells + 2; ++i) counts[i] += counts[i - 1];
  // counts[c + 1] is where cell c begins; in the end, where it ends
  for (uint32_t& each : slots) each = counts[each + 1]++;
  ends_ = counts;
}

}  // namespace keepbox
