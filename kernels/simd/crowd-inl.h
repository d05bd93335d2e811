// SPDX-License-Identifier: LGPL-2.1-or-later
// Candidates dealt out by class and place, so that a kept box is compared with those that it may
// overlap and few others.
//
// Each class has grids over the model's input, the more cells the more candidates it has; from grid
// to grid cells are twice as wide. A candidate is in the cell of its upper left corner, in the
// finest grid in which it reaches no further than the next cell. So all that a box may overlap is in
// the cells that it touches and in those one before them. Cells of a row are neighbours in memory.
// Built once for each instruction set.
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

#include "core/box.h"
#include "core/plan.h"
#include "core/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kLanePadding>;

/// extent() of core/box.h for vectors: the same operations in the same order.
template <class V>
HWY_INLINE V Extent(V low, V high, bool plus_one) {
  const Floats d;
  auto size = hn::Sub(high, low);
  if (plus_one) size = hn::Add(size, hn::Set(d, 1.0f));
  return hn::Max(size, hn::Zero(d));
}

/// Cells that a box touches in the finest grid of its class.
struct Reach {
  uint32_t left, top, right, bottom;
  /// Is the box inverted, so far that it overlaps nothing?
  bool empty() const { return right < left || bottom < top; }
};

class Crowd {
 public:
  /// @param scratch of nms_lanes() and nms_words() for that many candidates.
  Crowd(const Plan& plan, const NmsScratch& scratch)
      : plan_(plan),
        apart_is_free_(apart_is_free(plan.iou_threshold, plan.contract)),
        per_pixel_x_(plan.letterbox.per_pixel_x()),
        per_pixel_y_(plan.letterbox.per_pixel_y()),
        stride_(scratch.lanes.size() / kBoxLanes),
        x1_(scratch.lanes.data()),
        y1_(x1_ + stride_),
        x2_(y1_ + stride_),
        y2_(x2_ + stride_),
        area_(y2_ + stride_),
        alive_(area_ + stride_),
        place_(scratch.words.data()),
        grids_(place_ + stride_),
        starts_(grids_ + kMaxClasses) {}

  /// Deals them out, all alive.
  void gather(std::span<const Candidate> candidates) {
    lay_out_grids(candidates);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const uint32_t bin = bin_of(candidates[i]);
      place_[i] = bin;
      ++starts_[bin];
    }
    uint64_t end = 0;
    for (uint32_t b = 0; b < bins_; ++b) starts_[b] = end += starts_[b];
    starts_[bins_] = end;
    // Filled from its end, each bin's start comes to be where it should.
    for (size_t i = 0; i < candidates.size(); ++i) {
      const uint64_t at = --starts_[place_[i]];
      place_[i] = at;
      put(at, ordered(candidates[i].box, plan_.contract));
    }
  }

  /// Has no kept box struck the candidate of that number?
  bool alive(size_t i) const { return alive_[place_[i]] != 0; }

  /// Strikes the candidates that a kept box overlaps, itself among them.
  void strike(const Candidate& kept) {
    const uint32_t id = class_of(kept);
    if (id >= classes_ || grids_[id] == kNoGrid) return;
    const Grid grid(grids_[id]);
    const Box box = ordered(kept.box, plan_.contract);
    const uint64_t low = starts_[grid.first], high = starts_[grid.first + grid.before(grid.levels)];
    const Striker striker(*this, box);
    if (grid.levels == 1) return striker.strike(low, high, low, high);
    const Reach reach = reach_of(box, grid.levels);
    if (reach.empty()) return;
    const auto before = [](uint32_t cell) { return cell == 0 ? 0 : cell - 1; };
    for (uint32_t l = 0; l < grid.levels; ++l) {
      if ((grid.populated >> l & 1) == 0) continue;
      for (uint32_t y = before(reach.top >> l); y <= reach.bottom >> l; ++y) {
        const uint32_t row = grid.bin(l, 0, y);
        striker.strike(starts_[row + before(reach.left >> l)],
                       starts_[row + (reach.right >> l) + 1], low, high);
      }
    }
  }

 private:
  static constexpr uint64_t kNoGrid = 0;
  static constexpr uint32_t kMostLevels = 7;
  static constexpr size_t kPerCell = 4;  // candidates of a class for each cell of its finest grid

  /// A class's grids, packed into a word.
  struct Grid {
    uint32_t first;      // bin
    uint32_t levels;     // the finest has 2^(levels - 1) cells a side
    uint32_t populated;  // a bit a level

    Grid(uint32_t first_bin, uint32_t level_count)
        : first(first_bin), levels(level_count), populated(level_count == 1) {}
    explicit Grid(uint64_t word)
        : first(static_cast<uint32_t>(word >> 32)),
          levels(static_cast<uint32_t>(word & 0xff)),
          populated(static_cast<uint32_t>(word >> 8 & 0xffffff)) {}
    uint64_t word() const { return uint64_t{first} << 32 | populated << 8 | levels; }

    /// Bins of the grids finer than a level, of all when it is `levels`.
    uint32_t before(uint32_t level) const {
      return ((1u << 2 * levels) - (1u << 2 * (levels - level))) / 3;
    }
    uint32_t bin(uint32_t level, uint32_t x, uint32_t y) const {
      return first + before(level) + (y << (levels - 1 - level)) + x;
    }
  };

  uint32_t class_of(const Candidate& candidate) const {
    return plan_.contract.class_agnostic ? 0 : key_class(candidate.key);
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
      const Grid grid(bins_, apart_is_free_ ? std::clamp(half, 1u, kMostLevels) : 1);
      bins_ += grid.before(grid.levels);
      grids_[id] = grid.word();
    }
    std::fill_n(starts_, bins_ + 1, 0);
  }

  uint32_t bin_of(const Candidate& candidate) {
    uint64_t& word = grids_[class_of(candidate)];
    Grid grid(word);
    if (grid.levels == 1) return grid.first;
    const Reach reach = reach_of(ordered(candidate.box, plan_.contract), grid.levels);
    uint32_t level = 0;
    if (!reach.empty())
      while ((reach.right >> level) - (reach.left >> level) > 1 ||
             (reach.bottom >> level) - (reach.top >> level) > 1)
        ++level;
    grid.populated |= 1u << level;
    word = grid.word();
    return grid.bin(level, reach.left >> level, reach.top >> level);
  }

  /// Never falls as `at` rises; what is outside the input is in its outermost cells.
  static uint32_t cell(float at, float per_pixel, uint32_t cells) {
    const auto side = static_cast<float>(cells);
    return static_cast<uint32_t>(std::min(std::max(at * (per_pixel * side), 0.0f), side - 1));
  }

  Reach reach_of(const Box& box, uint32_t levels) const {
    const uint32_t cells = 1u << (levels - 1);
    const float more = plan_.contract.plus_one ? 1.0f : 0.0f;
    return {cell(box.x1, per_pixel_x_, cells), cell(box.y1, per_pixel_y_, cells),
            cell(box.x2 + more, per_pixel_x_, cells), cell(box.y2 + more, per_pixel_y_, cells)};
  }

  void put(uint64_t at, const Box& box) {
    x1_[at] = box.x1;
    y1_[at] = box.y1;
    x2_[at] = box.x2;
    y2_[at] = box.y2;
    area_[at] = area(box, plan_.contract);
    alive_[at] = 1;
  }

  /// overlaps() of core/box.h for one box and vectors of candidates. Holds no vectors: those of
  /// some instruction sets have no size.
  class Striker {
   public:
    HWY_INLINE Striker(Crowd& crowd, const Box& box)
        : crowd_(crowd),
          box_(box),
          area_(keepbox::area(box, crowd.plan_.contract)),
          threshold_(crowd.plan_.iou_threshold),
          plus_one_(crowd.plan_.contract.plus_one),
          inclusive_(crowd.plan_.contract.iou_inclusive) {}

    /// Candidates from `first` to `end`, and perhaps some beside them between `low` and `high`.
    HWY_INLINE void strike(size_t first, size_t end, size_t low, size_t high) const {
      const Floats d;
      const auto x1 = hn::Set(d, box_.x1), y1 = hn::Set(d, box_.y1), x2 = hn::Set(d, box_.x2),
                 y2 = hn::Set(d, box_.y2), area = hn::Set(d, area_),
                 threshold = hn::Set(d, threshold_), least = hn::Set(d, kOverlapLeast),
                 guarded = hn::Set(d, threshold_ * (1 - kOverlapGuard));
      for (size_t k = first & ~(hn::Lanes(d) - 1); k < end; k += hn::Lanes(d)) {
        const auto width = Extent(hn::Max(hn::Load(d, crowd_.x1_ + k), x1),
                                  hn::Min(hn::Load(d, crowd_.x2_ + k), x2), plus_one_);
        const auto height = Extent(hn::Max(hn::Load(d, crowd_.y1_ + k), y1),
                                   hn::Min(hn::Load(d, crowd_.y2_ + k), y2), plus_one_);
        const auto common = hn::Mul(width, height);
        const auto both = hn::Sub(hn::Add(hn::Load(d, crowd_.area_ + k), area), common);
        // Divided only where it may be beyond the threshold, by the guard of core/box.h.
        const auto less = hn::Lt(hn::Max(common, least), hn::Mul(both, guarded));
        if (hn::AllTrue(d, less)) continue;
        const auto iou = hn::Div(common, both);
        const auto over = inclusive_ ? hn::Ge(iou, threshold) : hn::Gt(iou, threshold);
        const auto theirs = hn::FirstN(d, low > k ? low - k : 0);
        const auto ours = hn::AndNot(theirs, hn::FirstN(d, high - k));
        hn::BlendedStore(hn::Zero(d), hn::And(over, ours), d, crowd_.alive_ + k);
      }
    }

   private:
    Crowd& crowd_;
    Box box_;
    float area_, threshold_;
    bool plus_one_, inclusive_;
  };

  const Plan& plan_;
  bool apart_is_free_;  // else there is one cell
  float per_pixel_x_, per_pixel_y_;  // of the input's sides
  size_t stride_;
  float *x1_, *y1_, *x2_, *y2_, *area_, *alive_;  // by place
  uint64_t* place_;   // by number; its bin, until all are counted
  uint64_t* grids_;   // by class; how many it has, until all are counted
  uint64_t* starts_;  // by bin, and the last one's end
  uint32_t classes_ = 0, bins_ = 0;
};

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
