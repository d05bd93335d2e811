// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of upright and oriented boxes.
#include "kernels/simd/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/nms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "core/formula/oriented.h"
#include "core/model/nms_methods.h"
#include "core/reference/backend.h"
#include "core/reference/nms.h"
#include "kernels/simd/spatial_grid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

// Upright of core/formula/geometry.h for vectors: the same operations in the same order, therefore
// the same results.

struct UprightVectors {
  using Geometry = Upright;
  static constexpr size_t kArrays = kBoxLanes;  // corners, area, validity

  static void put(const Rules& rules, const Box& shape, const Lanes& lanes, size_t at) {
    lanes[0][at] = shape.x1;
    lanes[1][at] = shape.y1;
    lanes[2][at] = shape.x2;
    lanes[3][at] = shape.y2;
    lanes[4][at] = Upright::area(shape, rules.contract);
  }

  /// Calls mark(k, mask) for the vectors from `first` to `end` in which a box may be suppressed.
  template <class Mark>
  static HWY_INLINE void suppress_overlapped(const Rules& rules, const Box& box, const Lanes& lanes,
                                             size_t first, size_t end, Mark mark) {
    const Floats d;
    const NmsContract& contract = rules.contract;
    const auto x1 = hn::Set(d, box.x1), y1 = hn::Set(d, box.y1), x2 = hn::Set(d, box.x2),
               y2 = hn::Set(d, box.y2), area = hn::Set(d, Upright::area(box, contract)),
               threshold = hn::Set(d, rules.iou_threshold), min_common = hn::Set(d, kMinOverlap),
               guarded = hn::Set(d, rules.iou_threshold * (1 - kOverlapGuard));
    for (size_t k = first; k < end; k += hn::Lanes(d)) {
      const auto width = extent(hn::Max(hn::Load(d, lanes[0] + k), x1),
                                hn::Min(hn::Load(d, lanes[2] + k), x2), contract.plus_one);
      const auto height = extent(hn::Max(hn::Load(d, lanes[1] + k), y1),
                                 hn::Min(hn::Load(d, lanes[3] + k), y2), contract.plus_one);
      const auto intersection = hn::Mul(width, height);
      const auto union_area = hn::Sub(hn::Add(hn::Load(d, lanes[4] + k), area), intersection);
      // Divides only if the overlap may exceed the threshold.
      const auto less = hn::Lt(hn::Max(intersection, min_common), hn::Mul(union_area, guarded));
      if (!contract.empty_overlap && hn::AllTrue(d, less)) continue;
      const auto iou = hn::Div(intersection, union_area);
      const auto over = contract.iou_inclusive ? hn::Ge(iou, threshold) : hn::Gt(iou, threshold);
      mark(k, contract.empty_overlap ? hn::Or(over, empty(lanes, k, box)) : over);
    }
  }

 private:
  /// True if two boxes have no area between them.
  static HWY_INLINE hn::Mask<Floats> empty(const Lanes& lanes, size_t k, const Box& box) {
    const Floats d;
    const auto width = hn::Sub(hn::Load(d, lanes[2] + k), hn::Load(d, lanes[0] + k));
    const auto height = hn::Sub(hn::Load(d, lanes[3] + k), hn::Load(d, lanes[1] + k));
    const auto union_area = hn::Add(hn::Mul(width, height), hn::Set(d, Upright::signed_area(box)));
    return hn::Le(union_area, hn::Zero(d));
  }

  template <class V>
  static HWY_INLINE V extent(V low, V high, bool plus_one) {
    const Floats d;
    auto size = hn::Sub(high, low);
    if (plus_one) size = hn::Add(size, hn::Set(d, 1.0f));
    return hn::Max(size, hn::Zero(d));
  }
};

// Oriented boxes of core/formula/oriented.h for vectors: their bounds select candidates, each of
// which is then decided by scalar code.

/// Vectors of oriented boxes. @tparam Of OrientedPolygon or OrientedGaussian.
template <class Of>
struct OrientedVectors {
  using Geometry = Of;
  static constexpr size_t kArrays = kOrientedLanes;

  static void put(const Rules& rules, const OrientedShape& shape, const Lanes& lanes, size_t at) {
    const Box box = Of::bounds(shape, rules);
    const float values[] = {box.x1,
                            box.y1,
                            box.x2,
                            box.y2,
                            Of::area(shape, rules.contract),
                            shape.x,
                            shape.y,
                            shape.half_w,
                            shape.half_h,
                            shape.rotation.sin,
                            shape.rotation.cos};
    static_assert(std::size(values) + 1 == kArrays);
    for (size_t i = 0; i < std::size(values); ++i) lanes[i][at] = values[i];
  }

  /// Calls mark(k, mask) for the vectors from `first` to `end` in which a box is suppressed.
  template <class Mark>
  static HWY_INLINE void suppress_overlapped(const Rules& rules, const OrientedShape& shape,
                                             const Lanes& lanes, size_t first, size_t end,
                                             Mark mark) {
    const Floats d;
    const Box box = Of::bounds(shape, rules);
    const float area = Of::area(shape, rules.contract);
    const bool all = !disjoint_never_overlap(rules);
    const auto x1 = hn::Set(d, box.x1), y1 = hn::Set(d, box.y1), x2 = hn::Set(d, box.x2),
               y2 = hn::Set(d, box.y2);
    for (size_t k = first; k < end; k += hn::Lanes(d)) {
      const auto alive = hn::Ne(hn::Load(d, lanes[kArrays - 1] + k), hn::Zero(d));
      const auto across =
          hn::And(hn::Le(hn::Load(d, lanes[0] + k), x2), hn::Ge(hn::Load(d, lanes[2] + k), x1));
      const auto down =
          hn::And(hn::Le(hn::Load(d, lanes[1] + k), y2), hn::Ge(hn::Load(d, lanes[3] + k), y1));
      const auto may = all ? alive : hn::And(alive, hn::And(across, down));
      if (hn::AllFalse(d, may)) continue;
      HWY_ALIGN float over[hn::MaxLanes(d)];
      hn::Store(hn::IfThenElse(may, hn::Set(d, 1.0f), hn::Zero(d)), d, over);
      for (size_t lane = 0; lane < hn::Lanes(d); ++lane)
        if (over[lane] != 0)
          over[lane] = hits<Of>(rules, shape, area, shape_at(lanes, k + lane), lanes[4][k + lane])
                           ? 1.0f
                           : 0.0f;
      mark(k, hn::Ne(hn::Load(d, over), hn::Zero(d)));
    }
  }

 private:
  static OrientedShape shape_at(const Lanes& lanes, size_t at) {
    return {lanes[5][at],
            lanes[6][at],
            lanes[7][at],
            lanes[8][at],
            {.sin = lanes[9][at], .cos = lanes[10][at]}};
  }
};

// Fast suppression: a candidate is dropped if any better one overlaps it. Comparisons start at the
// best candidate and stop at the first overlap, as in the reference: early if boxes are dense.

/// Boxes by class, best first, with one row per class.
template <class Vectors>
class Rows {
 public:
  using Geometry = typename Vectors::Geometry;

  /// Reserves space for the candidates. @param scratch has nms_lanes() and nms_words() for that
  /// many.
  Rows(const Plan& plan, std::span<const Candidate> candidates, const NmsScratch& scratch)
      : rules_(plan.rules),
        lanes_{scratch.lanes.data(), scratch.lanes.size() / Vectors::kArrays},
        starts_(scratch.words.data()),
        ends_(starts_ + kMaxClasses) {
    size_t classes = 0;
    for (const Candidate& each : candidates) {
      for (; classes <= class_of(each); ++classes) ends_[classes] = 0;
      ++ends_[class_of(each)];
    }
    uint64_t at = 0;
    for (size_t id = 0; id < classes; ++id) {
      starts_[id] = at;
      at += std::exchange(ends_[id], at);
    }
  }

  /// True if any box in the candidate's row overlaps it.
  bool overlaps(const Candidate& candidate) const {
    const uint32_t id = class_of(candidate);
    const auto shape = shape_of<Geometry>(rules_.contract, candidate);
    return overlaps(shape, starts_[id], ends_[id]);
  }

  /// Appends the candidate to its row.
  void add(const Candidate& candidate) {
    const uint64_t at = ends_[class_of(candidate)]++;
    Vectors::put(rules_, shape_of<Geometry>(rules_.contract, candidate), lanes_, at);
    lanes_[Vectors::kArrays - 1][at] = 1;
  }

 private:
  static constexpr size_t kMaxAtOnce = 16;  // vectors: more would look beyond the first overlap

  uint32_t class_of(const Candidate& candidate) const {
    return rules_.contract.class_agnostic ? 0 : key_class(candidate.key);
  }

  /// Checks one vector, then twice as many each time.
  bool overlaps(const typename Geometry::Shape& shape, size_t first, size_t end) const {
    const Floats d;
    bool found = false;
    const auto mark = [&](size_t k, auto over) HWY_ATTR {
      const auto before = hn::FirstN(d, first > k ? first - k : 0);
      const auto ours = hn::AndNot(before, hn::FirstN(d, end - k));
      found = found || !hn::AllFalse(d, hn::And(over, ours));
    };
    size_t at = first & ~(hn::Lanes(d) - 1);
    for (size_t vectors = 1; at < end && !found; vectors = std::min(2 * vectors, kMaxAtOnce)) {
      const size_t next = at + vectors * hn::Lanes(d);
      Vectors::suppress_overlapped(rules_, shape, lanes_, at, std::min(next, end), mark);
      at = next;
    }
    return found;
  }

  const Rules& rules_;
  Lanes lanes_;
  uint64_t *starts_, *ends_;  // of rows, by class
};

/// Suppresses by class; a box dropped by a limit still suppresses others.
template <class Vectors>
uint32_t suppress_by_all(const Plan& plan, std::span<const Candidate> candidates,
                         std::span<uint32_t> kept, const NmsScratch& scratch) {
  Rows<Vectors> rows(plan, candidates, scratch);
  reference::ClassLimit limit(plan);
  uint32_t number = 0;
  for (uint32_t i = 0; i < candidates.size() && number < kept.size(); ++i) {
    const Candidate& each = candidates[i];
    if (scratch.stop.requested()) return 0;
    if (!limit.is_full(each) && !rows.overlaps(each)) {
      limit.count(each);
      kept[number++] = i;
    }
    rows.add(each);
  }
  return number;
}

template <class Vectors>
uint32_t suppress(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  return plan.rules.method == NmsMethod::kFast
             ? suppress_by_all<Vectors>(plan, candidates, kept, scratch)
             : suppress_greedily<Vectors>(plan, candidates, kept, scratch);
}

/// Vector code of a geometry.
template <class Geometry>
struct VectorsOf {
  using Type = OrientedVectors<Geometry>;
};
template <>
struct VectorsOf<Upright> {
  using Type = UprightVectors;
};

uint32_t Suppress(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  return with_geometry(plan.rules, [&]<class Geometry>() {
    return suppress<typename VectorsOf<Geometry>::Type>(plan, candidates, kept, scratch);
  });
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(Suppress);

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch) {
  if (plan.rules.method == NmsMethod::kNone && !plan.rules.limits_classes()) {
    const size_t count = std::min(candidates.size(), kept.size());
    std::iota(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(count), 0u);
    return static_cast<uint32_t>(count);
  }
  // Exact methods keep the same boxes and share one.
  if (traits_of(plan.rules.method).scratch != HostScratch::kGrid)
    return reference::nms(plan, candidates, kept, scratch);
  return HWY_DYNAMIC_DISPATCH(Suppress)(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
