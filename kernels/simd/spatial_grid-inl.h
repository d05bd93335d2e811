// SPDX-License-Identifier: LGPL-2.1-or-later
// Bins candidates by class and location, so that a kept box is compared with few boxes other than
// those it may overlap.
//
// Each class has a pyramid of grids over the model input, with more cells for more candidates; the
// cell size doubles from grid to grid. A candidate is in the cell of its upper left corner, in the
// finest grid in which it extends no further than the next cell. Therefore all candidates that a
// box may overlap are in the cells it touches and in the cells one before them. Cells of a row are
// adjacent in memory. Compiled once per instruction set.
#if defined(KEEPBOX_SIMD_CROWD) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_CROWD
#undef KEEPBOX_SIMD_CROWD
#else
#define KEEPBOX_SIMD_CROWD
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "core/formula/geometry.h"
#include "core/plan/plan.h"
#include "core/reference/nms.h"
#include "core/run/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors over the lanes of boxes, which are arrays of equal length.
using Floats = hn::CappedTag<float, kLanePadding>;
struct Lanes {
  float* first;
  size_t stride;
  float* operator[](size_t number) const { return first + number * stride; }
};

/// Cells touched by a box in the finest grid of its class.
struct CellRange {
  uint32_t left, top, right, bottom;
  /// True if the box is inverted so far that it overlaps nothing.
  bool empty() const { return right < left || bottom < top; }
};

/// @tparam Vectors the vector form of a geometry, such as Upright's (upright-inl.h): its
/// `Geometry`, kArrays values per box with the validity last, put() to store a shape, and
/// suppress_overlapped().
template <class Vectors>
class SpatialGrid {
 public:
  using Geometry = typename Vectors::Geometry;
  static_assert(BoxGeometry<Geometry>);

  /// @param scratch has nms_lanes() and nms_words() for that many candidates.
  SpatialGrid(const Plan& plan, const NmsScratch& scratch)
      : rules_(plan.rules),
        disjoint_never_overlap_(disjoint_never_overlap(plan.rules)),
        per_pixel_x_(plan.letterbox.per_pixel_x()),
        per_pixel_y_(plan.letterbox.per_pixel_y()),
        lanes_{scratch.lanes.data(), scratch.lanes.size() / Vectors::kArrays},
        alive_(lanes_[Vectors::kArrays - 1]),
        place_(scratch.words.data()),
        grids_(place_ + lanes_.stride),
        starts_(grids_ + kMaxClasses) {}

  /// Bins the candidates, all of them alive.
  void insert(std::span<const Candidate> candidates) {
    lay_out_grids(candidates);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const uint32_t bin = bin_of(candidates[i]);
      place_[i] = bin;
      ++starts_[bin];
    }
    uint64_t end = 0;
    for (uint32_t b = 0; b < bins_; ++b) starts_[b] = end += starts_[b];
    starts_[bins_] = end;
    // Filled from the end, so that each bin's start ends up at its first candidate.
    for (size_t i = 0; i < candidates.size(); ++i) {
      const uint64_t at = --starts_[place_[i]];
      place_[i] = at;
      Vectors::put(rules_, shape_of(candidates[i]), lanes_, at);
      alive_[at] = 1;
    }
    // Whole vectors are compared: lanes behind the last candidate change nothing, but must not be
    // what was in memory, on which a branch would depend.
    const size_t used = candidates.size();
    for (size_t array = 0; array < Vectors::kArrays; ++array)
      std::fill(lanes_[array] + used, lanes_[array] + hwy::RoundUpTo(used, hn::Lanes(Floats())),
                0.0f);
  }

  /// True if no kept box has suppressed candidate i.
  bool alive(size_t i) const { return alive_[place_[i]] != 0; }

  /// Suppresses the candidates that a kept box overlaps, including itself.
  void suppress_overlapped(const Candidate& kept) {
    const uint32_t id = class_of(kept);
    if (id >= classes_ || grids_[id] == kNoGrid) return;
    const Grid grid(grids_[id]);
    const auto shape = shape_of(kept);
    const uint64_t low = starts_[grid.first], high = starts_[grid.first + grid.before(grid.levels)];
    if (grid.levels == 1) return suppress_overlapped(shape, low, high, low, high);
    const CellRange range = cell_range_of(shape, grid.levels);
    if (range.empty()) return;
    const auto before = [](uint32_t cell) { return cell == 0 ? 0 : cell - 1; };
    for (uint32_t l = 0; l < grid.levels; ++l) {
      if ((grid.populated >> l & 1) == 0) continue;
      for (uint32_t y = before(range.top >> l); y <= range.bottom >> l; ++y) {
        const uint32_t row = grid.bin(l, 0, y);
        suppress_overlapped(shape, starts_[row + before(range.left >> l)],
                            starts_[row + (range.right >> l) + 1], low, high);
      }
    }
  }

 private:
  static constexpr uint64_t kNoGrid = 0;
  static constexpr uint32_t kMaxLevels = 7;
  static constexpr size_t kPerCell = 4;  // candidates per cell of a class's finest grid

  /// Grids of a class, packed into a word.
  struct Grid {
    uint32_t first;      // bin
    uint32_t levels;     // the finest has 2^(levels - 1) cells per side
    uint32_t populated;  // one bit per level

    Grid(uint32_t first_bin, uint32_t level_count)
        : first(first_bin), levels(level_count), populated(level_count == 1) {}
    explicit Grid(uint64_t word)
        : first(static_cast<uint32_t>(word >> 32)),
          levels(static_cast<uint32_t>(word & 0xff)),
          populated(static_cast<uint32_t>(word >> 8 & 0xffffff)) {}
    uint64_t word() const { return uint64_t{first} << 32 | populated << 8 | levels; }

    /// Returns the number of bins in grids finer than a level, or in all grids for `levels`.
    uint32_t before(uint32_t level) const {
      return ((1u << 2 * levels) - (1u << 2 * (levels - level))) / 3;
    }
    uint32_t bin(uint32_t level, uint32_t x, uint32_t y) const {
      return first + before(level) + (y << (levels - 1 - level)) + x;
    }
  };

  uint32_t class_of(const Candidate& candidate) const {
    return rules_.contract.class_agnostic ? 0 : key_class(candidate.key);
  }

  typename Geometry::Shape shape_of(const Candidate& candidate) const {
    return keepbox::shape_of<Geometry>(rules_.contract, candidate);
  }

  void lay_out_grids(std::span<const Candidate> candidates) {
    classes_ = 0;
    for (const Candidate& each : candidates) {
      const uint32_t id = class_of(each);
      for (; classes_ <= id; ++classes_) grids_[classes_] = 0;
      ++grids_[id];
    }
    bins_ = 0;
    for (uint32_t id = 0; id < classes_; ++id) {
      if (grids_[id] == 0) continue;
      const auto half = static_cast<uint32_t>(std::bit_width(grids_[id] / kPerCell) + 1) / 2;
      const Grid grid(bins_, disjoint_never_overlap_ ? std::clamp(half, 1u, kMaxLevels) : 1);
      bins_ += grid.before(grid.levels);
      grids_[id] = grid.word();
    }
    std::fill_n(starts_, bins_ + 1, 0);
  }

  uint32_t bin_of(const Candidate& candidate) {
    uint64_t& word = grids_[class_of(candidate)];
    Grid grid(word);
    if (grid.levels == 1) return grid.first;
    const CellRange range = cell_range_of(shape_of(candidate), grid.levels);
    uint32_t level = 0;
    if (!range.empty())
      while ((range.right >> level) - (range.left >> level) > 1 ||
             (range.bottom >> level) - (range.top >> level) > 1)
        ++level;
    grid.populated |= 1u << level;
    word = grid.word();
    return grid.bin(level, range.left >> level, range.top >> level);
  }

  /// Returns the cell of a coordinate. Monotonic in `at`; coordinates outside of the input are in
  /// its outermost cells.
  static uint32_t cell(float at, float per_pixel, uint32_t cells) {
    const auto side = static_cast<float>(cells);
    return static_cast<uint32_t>(std::min(std::max(at * (per_pixel * side), 0.0f), side - 1));
  }

  CellRange cell_range_of(const typename Geometry::Shape& shape, uint32_t levels) const {
    const uint32_t cells = 1u << (levels - 1);
    const Box box = Geometry::bounds(shape, rules_);
    return {cell(box.x1, per_pixel_x_, cells), cell(box.y1, per_pixel_y_, cells),
            cell(box.x2, per_pixel_x_, cells), cell(box.y2, per_pixel_y_, cells)};
  }

  /// Checks candidates from `first` to `end`; may also check others between `low` and `high`.
  HWY_INLINE void suppress_overlapped(const typename Geometry::Shape& shape, size_t first,
                                      size_t end, size_t low, size_t high) {
    const Floats d;
    Vectors::suppress_overlapped(
        rules_, shape, lanes_, first & ~(hn::Lanes(d) - 1), end, [&](size_t k, auto over) HWY_ATTR {
          const auto before = hn::FirstN(d, low > k ? low - k : 0);
          const auto ours = hn::AndNot(before, hn::FirstN(d, high - k));
          hn::BlendedStore(hn::Zero(d), hn::And(over, ours), d, alive_ + k);
        });
  }

  const Rules& rules_;
  bool disjoint_never_overlap_;      // otherwise there is a single cell
  float per_pixel_x_, per_pixel_y_;  // reciprocals of the input's sides
  Lanes lanes_;                      // by position
  float* alive_;                     // by position
  uint64_t* place_;                  // by candidate; the bin until all are counted
  uint64_t* grids_;                  // by class; the number of candidates until all are counted
  uint64_t* starts_;                 // by bin, plus the end of the last
  uint32_t classes_ = 0, bins_ = 0;
};

// Greedy suppression: each kept box suppresses the candidates that it overlaps.

/// Processes the best candidates first, as many as are likely to fill the limit, then all others.
/// Boxes of a full class suppress nothing.
template <class Vectors>
uint32_t suppress_greedily(const Plan& plan, std::span<const Candidate> candidates,
                           std::span<uint32_t> kept, const NmsScratch& scratch) {
  SpatialGrid<Vectors> boxes(plan, scratch);
  reference::ClassLimit limit(plan);
  size_t number = 0, first = 0, wanted = 4 * kept.size();
  while (first < candidates.size() && number < kept.size()) {
    const auto some = candidates.subspan(first, std::min(wanted, candidates.size() - first));
    boxes.insert(some);
    for (size_t i = 0; i < number; ++i) boxes.suppress_overlapped(candidates[kept[i]]);
    for (size_t i = 0; i < some.size() && number < kept.size(); ++i) {
      if (!boxes.alive(i) || !limit.admits(some[i])) continue;
      if (scratch.stop.requested()) return 0;
      kept[number++] = static_cast<uint32_t>(first + i);
      boxes.suppress_overlapped(some[i]);
    }
    first += some.size();
    wanted = candidates.size();
  }
  return static_cast<uint32_t>(number);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
