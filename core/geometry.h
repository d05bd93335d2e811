// SPDX-License-Identifier: LGPL-2.1-or-later
// Geometries: what suppression asks of boxes. Kernels are templates over one of these:
//
//   Shape                       what overlaps are computed of, made once a box
//   shape(box, contract)        in its canonical form
//   area(shape, contract)
//   bounds(shape, contract)     upright corners that hold all that it may overlap a point of
//   hits(rules, a, area_a, b, area_b)   do they overlap by more than the threshold?
//
// All of finite boxes, all by the same operations in the same order on every device.
#pragma once

#include <cstdint>

#include "core/box.h"
#include "core/rules.h"

namespace keepbox {

// Where an overlap can be decided without its division: common / both is beyond the threshold or
// not as common - threshold * both is above 0 or not, if that is further from 0 than rounding can
// carry it. Quotient and product are each off by at most 2^-24 of themselves; the guard is 2^-20 of
// the product, and products near the least floats are divided.
inline constexpr float kOverlapGuard = 9.5367431640625e-7f;
inline constexpr float kOverlapLeast = 1e-30f;

/// Is common / both, divided, beyond the threshold? A comparison by product would decide otherwise
/// at the threshold. 0 / 0 is not.
KB_HD_CALLED constexpr bool divided_exceeds(const Rules& rules, float common, float both) {
  const float iou = common / both;
  return rules.contract.iou_inclusive ? iou >= rules.iou_threshold : iou > rules.iou_threshold;
}

/// The same, divided only where the guard asks for it.
/// @param both not below 0, and at least `common` but for rounding.
KB_HD constexpr bool exceeds(const Rules& rules, float common, float both) {
  const float bound = rules.iou_threshold * both, beyond = common - bound;
  const float distance = beyond < 0 ? -beyond : beyond;
  // Without branches but for the rare one: they take longer than the arithmetic.
  bool over = beyond > 0;
  if (!((distance > bound * kOverlapGuard) & (bound > kOverlapLeast)))
    over = divided_exceeds(rules, common, both);
  return over;
}

/// Do shapes whose bounds have no common point never overlap?
KB_HD constexpr bool apart_is_free(const Rules& rules) {
  return !rules.contract.empty_overlap &&
         (rules.iou_threshold > 0.0f || !rules.contract.iou_inclusive);
}

/// Do upright bounds have a common point?
KB_HD constexpr bool touch(const Box& a, const Box& b) {
  return (a.x1 <= b.x2) & (a.x2 >= b.x1) & (a.y1 <= b.y2) & (a.y2 >= b.y1);
}

/// Boxes with sides along the axes.
struct Upright {
  using Shape = Box;

  /// x1 <= x2 and y1 <= y2 where the contract allows any two opposite corners.
  KB_HD static constexpr Shape shape(const Box& box, const NmsContract& contract) {
    return ordered(box, contract);
  }

  KB_HD static constexpr float area(const Shape& s, const NmsContract& contract) {
    return extent(s.x1, s.x2, contract) * extent(s.y1, s.y2, contract);
  }

  /// Some contracts count a pixel more.
  KB_HD static constexpr Box bounds(const Shape& s, const NmsContract& contract) {
    const float more = contract.plus_one ? 1.0f : 0.0f;
    return {s.x1, s.y1, s.x2 + more, s.y2 + more};
  }

  /// IoU: intersection / union.
  KB_HD static constexpr bool hits(const Rules& rules, const Shape& a, float area_a,
                                   const Shape& b, float area_b) {
    const NmsContract& contract = rules.contract;
    const float common =
        extent(a.x1 > b.x1 ? a.x1 : b.x1, a.x2 < b.x2 ? a.x2 : b.x2, contract) *
        extent(a.y1 > b.y1 ? a.y1 : b.y1, a.y2 < b.y2 ? a.y2 : b.y2, contract);
    const bool over = exceeds(rules, common, (area_a + area_b) - common);
    return contract.empty_overlap ? over | (signed_area(a) + signed_area(b) <= 0.0f) : over;
  }

  /// Negative when one axis is inverted, as OpenCV computes it.
  KB_HD static constexpr float signed_area(const Shape& s) {
    return (s.x2 - s.x1) * (s.y2 - s.y1);
  }

  KB_HD static constexpr float extent(float low, float high, const NmsContract& contract) {
    const float size = contract.plus_one ? (high - low) + 1.0f : high - low;
    return size > 0.0f ? size : 0.0f;
  }
};

/// For those who look at one pair.
template <class Geometry>
KB_HD constexpr bool overlap(const Rules& rules, const Box& a, const Box& b) {
  const NmsContract& contract = rules.contract;
  const auto x = Geometry::shape(a, contract), y = Geometry::shape(b, contract);
  return Geometry::hits(rules, x, Geometry::area(x, contract), y, Geometry::area(y, contract));
}

}  // namespace keepbox
