// SPDX-License-Identifier: LGPL-2.1-or-later
// Geometries: what suppression asks of boxes. Kernels are templates over one of these:
//
//   Shape                       what overlaps are computed of, made once a box
//   kTurned                     does shape() want an angle? Else any will do
//   shape(box, angle, contract, class)    in its canonical form, moved as far as its class is
//   area(shape, contract)
//   bounds(shape, rules)        upright corners: two that do not touch() do not overlap by more than
//                               the threshold
//   guess(rules, a, area_a, b, area_b)    do they overlap by more than the threshold, and is that
//                                         sure? Without branches, for loops over many
//   decide(rules, a, area_a, b, area_b)   the same, exactly
//   measure(rules, a, area_a, b, area_b)  how much they overlap: up to 1; NaN is not at all
//   distance(a, b)              of centres: squared, by the square of the diagonal around both
//
// All of finite boxes, all by the same operations in the same order on every device.
#pragma once

#include <cstdint>

#include "core/box.h"
#include "core/rules.h"

namespace keepbox {

/// An answer, and whether decide() would be the same.
struct Guess {
  bool over, sure;
};

// Where an overlap can be decided without its division: common / both is beyond the threshold or
// not as common - threshold * both is above 0 or not, if that is further from 0 than rounding can
// carry it. Quotient and product are each off by at most 2^-24 of themselves; the guard is 2^-20 of
// the product, and products near the least floats are divided.
inline constexpr float kOverlapGuard = 9.5367431640625e-7f;
inline constexpr float kOverlapLeast = 1e-30f;

/// Is a number beyond the threshold? A NaN is not.
KB_HD inline bool exceeds(const Rules& rules, float overlap) {
  return rules.contract.iou_inclusive ? overlap >= rules.iou_threshold
                                      : overlap > rules.iou_threshold;
}

/// Is common / both, divided, beyond the threshold? A comparison by product would decide otherwise
/// at the threshold. 0 / 0 is not.
KB_HD inline bool divided_exceeds(const Rules& rules, float common, float both) {
  return exceeds(rules, common / both);
}

/// The same without the division. @param both not below 0.
KB_HD inline Guess guess_exceeds(const Rules& rules, float common, float both) {
  const float bound = rules.iou_threshold * both, beyond = common - bound;
  return {beyond > 0, magnitude(beyond) > bound * kOverlapGuard && bound > kOverlapLeast};
}

/// A box among those of all classes, where a contract puts them side by side. Rounds as it does.
KB_HD inline Box shifted(const Box& box, const NmsContract& contract, uint32_t class_id) {
  if (contract.class_offset == 0) return box;
  const float by = static_cast<float>(class_id) * contract.class_offset;
  return {box.x1 + by, box.y1 + by, box.x2 + by, box.y2 + by};
}

/// Do shapes whose bounds have no common point never overlap?
KB_HD inline bool apart_is_free(const Rules& rules) {
  return !rules.contract.empty_overlap &&
         (rules.iou_threshold > 0.0f || !rules.contract.iou_inclusive);
}

/// Do upright bounds have a common point?
KB_HD inline bool touch(const Box& a, const Box& b) {
  return (a.x1 <= b.x2) & (a.x2 >= b.x1) & (a.y1 <= b.y2) & (a.y2 >= b.y1);
}

/// Boxes with sides along the axes.
struct Upright {
  using Shape = Box;
  static constexpr bool kTurned = false;

  /// x1 <= x2 and y1 <= y2 where the contract allows any two opposite corners.
  KB_HD static Shape shape(const Box& box, float, const NmsContract& contract, uint32_t class_id) {
    return shifted(ordered(box, contract), contract, class_id);
  }

  KB_HD static float area(const Shape& s, const NmsContract& contract) {
    return extent(s.x1, s.x2, contract) * extent(s.y1, s.y2, contract);
  }

  /// Some contracts count a pixel more.
  KB_HD static Box bounds(const Shape& s, const Rules& rules) {
    const float pixel = rules.contract.pixel();
    return {s.x1, s.y1, s.x2 + pixel, s.y2 + pixel};
  }

  /// IoU: intersection / union. Not sure of contracts with a rule for empty boxes.
  KB_HD static Guess guess(const Rules& rules, const Shape& a, float area_a,
                                     const Shape& b, float area_b) {
    const float shared = common(a, b, rules.contract);
    Guess out = guess_exceeds(rules, shared, (area_a + area_b) - shared);
    out.sure &= !rules.contract.empty_overlap;
    return out;
  }

  KB_HD static bool decide(const Rules& rules, const Shape& a, float area_a,
                                     const Shape& b, float area_b) {
    if (rules.contract.empty_overlap && signed_area(a) + signed_area(b) <= 0.0f) return true;
    const float shared = common(a, b, rules.contract);
    return divided_exceeds(rules, shared, (area_a + area_b) - shared);
  }

  /// IoU.
  KB_HD static float measure(const Rules& rules, const Shape& a, float area_a,
                                       const Shape& b, float area_b) {
    if (rules.contract.empty_overlap && signed_area(a) + signed_area(b) <= 0.0f) return 1.0f;
    const float shared = common(a, b, rules.contract);
    return shared / ((area_a + area_b) - shared);
  }

  KB_HD static float distance(const Shape& a, const Shape& b) {
    const float dx = (a.x1 + a.x2) * 0.5f - (b.x1 + b.x2) * 0.5f;
    const float dy = (a.y1 + a.y2) * 0.5f - (b.y1 + b.y2) * 0.5f;
    const float width = larger(a.x2, b.x2) - smaller(a.x1, b.x1);
    const float height = larger(a.y2, b.y2) - smaller(a.y1, b.y1);
    return (dx * dx + dy * dy) / (width * width + height * height);
  }

  KB_HD static float common(const Shape& a, const Shape& b,
                                      const NmsContract& contract) {
    return extent(larger(a.x1, b.x1), smaller(a.x2, b.x2), contract) *
           extent(larger(a.y1, b.y1), smaller(a.y2, b.y2), contract);
  }

  /// Negative when one axis is inverted, as OpenCV computes it.
  KB_HD static float signed_area(const Shape& s) {
    return (s.x2 - s.x1) * (s.y2 - s.y1);
  }

  KB_HD static float extent(float low, float high, const NmsContract& contract) {
    return larger((high - low) + contract.pixel(), 0.0f);  // a pixel of 0 changes nothing
  }
};

/// Do two shapes overlap by more than the threshold?
template <class Geometry>
KB_HD bool hits(const Rules& rules, const typename Geometry::Shape& a, float area_a,
                          const typename Geometry::Shape& b, float area_b) {
  const Guess guess = Geometry::guess(rules, a, area_a, b, area_b);
  return guess.sure ? guess.over : Geometry::decide(rules, a, area_a, b, area_b);
}

/// The same by IoU less the distance of centres. Two that are one point do not.
template <class Geometry>
KB_HD bool hits_nearby(const Rules& rules, const typename Geometry::Shape& a, float area_a,
                                 const typename Geometry::Shape& b, float area_b) {
  return exceeds(rules,
                Geometry::measure(rules, a, area_a, b, area_b) - Geometry::distance(a, b));
}

template <class Geometry>
KB_HD typename Geometry::Shape shape_of(const NmsContract& contract, const Candidate& of) {
  return Geometry::shape(of.box, of.angle, contract, key_class(of.key));
}

/// For those who look at one pair: calls what(rules, a, area_a, b, area_b) with their shapes.
template <class Geometry, class What>
KB_HD auto pair(const Rules& rules, const Candidate& a, const Candidate& b, What what) {
  const NmsContract& contract = rules.contract;
  const auto x = shape_of<Geometry>(contract, a), y = shape_of<Geometry>(contract, b);
  return what(rules, x, Geometry::area(x, contract), y, Geometry::area(y, contract));
}

template <class Geometry>
KB_HD bool overlap(const Rules& rules, const Candidate& a, const Candidate& b) {
  return pair<Geometry>(rules, a, b, hits<Geometry>);
}

/// How much two overlap, from 0 to 1.
template <class Geometry>
KB_HD float overlap_of(const Rules& rules, const typename Geometry::Shape& a, float area_a,
                       const typename Geometry::Shape& b, float area_b) {
  const float measured = Geometry::measure(rules, a, area_a, b, area_b);
  return measured > 0 ? measured : 0;
}

}  // namespace keepbox
