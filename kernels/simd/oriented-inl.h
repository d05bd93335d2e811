// SPDX-License-Identifier: LGPL-2.1-or-later
// Oriented boxes of core/formula/oriented.h for vectors: their bounds select candidates, each of
// which is then decided by scalar code. Compiled once per instruction set.
#if defined(KEEPBOX_SIMD_ORIENTED) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_ORIENTED
#undef KEEPBOX_SIMD_ORIENTED
#else
#define KEEPBOX_SIMD_ORIENTED
#endif

#include <hwy/highway.h>

#include "core/formula/oriented.h"
#include "kernels/simd/spatial_grid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

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

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
