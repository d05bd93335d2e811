// SPDX-License-Identifier: LGPL-2.1-or-later
// Upright of core/formula/geometry.h for vectors: the same operations in the same order, therefore
// the same results. Compiled once per instruction set.
#if defined(KEEPBOX_SIMD_UPRIGHT) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_UPRIGHT
#undef KEEPBOX_SIMD_UPRIGHT
#else
#define KEEPBOX_SIMD_UPRIGHT
#endif

#include <hwy/highway.h>

#include "kernels/simd/spatial_grid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

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

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
