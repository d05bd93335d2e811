// SPDX-License-Identifier: LGPL-2.1-or-later
// Vector code for circles.
#include "tests/parity/circles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/parity/circle_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/spatial_grid-inl.h"
#include "tests/parity/circle.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

struct CircleVectors {
  using Geometry = test::Circle;
  static constexpr size_t kArrays = kBoxLanes;

  static void put(const Rules&, const Geometry::Shape& shape, const Lanes& lanes, size_t at) {
    lanes[0][at] = shape.x;
    lanes[1][at] = shape.y;
    lanes[2][at] = shape.radius;
  }

  template <class Mark>
  static HWY_INLINE void suppress_overlapped(const Rules& rules, const Geometry::Shape& shape,
                                             const Lanes& lanes, size_t first, size_t end,
                                             Mark mark) {
    const Floats d;
    const auto threshold = hn::Set(d, rules.iou_threshold);
    for (size_t k = first; k < end; k += hn::Lanes(d)) {
      const auto dx = hn::Sub(hn::Set(d, shape.x), hn::Load(d, lanes[0] + k));
      const auto dy = hn::Sub(hn::Set(d, shape.y), hn::Load(d, lanes[1] + k));
      const auto reach = hn::Add(hn::Set(d, shape.radius), hn::Load(d, lanes[2] + k));
      const auto most = hn::Mul(reach, reach);
      const auto distance = hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy));
      const auto near = hn::Div(hn::Sub(most, distance), most);
      mark(k, rules.contract.iou_inclusive ? hn::Ge(near, threshold) : hn::Gt(near, threshold));
    }
  }
};

uint32_t Circles(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 const NmsScratch& scratch) {
  return suppress_greedily<CircleVectors>(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(Circles);

uint32_t circles(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 const NmsScratch& scratch) {
  return HWY_DYNAMIC_DISPATCH(Circles)(plan, candidates, kept, scratch);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
