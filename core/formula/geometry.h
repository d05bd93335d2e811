// SPDX-License-Identifier: LGPL-2.1-or-later
// Geometries: overlap tests for suppression.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/formula/box.h"
#include "core/formula/rules.h"

namespace keepbox {

/// A fast answer and whether it is certain to equal decide().
struct Guess {
  bool over, sure;
};

/// Overlap test of boxes, for templates of kernels. Boxes are finite. Every device performs the
/// same operations in the same order.
template <class G>
concept BoxGeometry =
    requires(const Box& box, float angle, float area, uint32_t class_id,
             const NmsContract& contract, const Rules& rules, const typename G::Shape& s) {
      // Prepares a box for overlap tests: canonical, and shifted by the class offset.
      { G::shape(box, angle, contract, class_id) } -> std::same_as<typename G::Shape>;
      { G::kOriented } -> std::convertible_to<bool>;  // true if shape() uses the angle
      { G::area(s, contract) } -> std::same_as<float>;
      // Upright corners: shapes whose bounds do not touch() do not overlap beyond the threshold.
      { G::bounds(s, rules) } -> std::same_as<Box>;
      // True if they overlap beyond the threshold, and whether that is certain; branch-free, for
      // loops over many boxes.
      { G::guess(rules, s, area, s, area) } -> std::same_as<Guess>;
      // True if they overlap beyond the threshold, exactly.
      { G::decide(rules, s, area, s, area) } -> std::same_as<bool>;
      // The overlap: up to 1; NaN counts as none.
      { G::measure(rules, s, area, s, area) } -> std::same_as<float>;
      // Squared distance of the centres, divided by the squared diagonal of the box around both.
      { G::distance(s, s) } -> std::same_as<float>;
    };

// An overlap can be decided without a division: common / both exceeds the threshold if common -
// threshold * both is positive, provided that the difference is further from 0 than rounding can
// move it. Quotient and product are each off by at most 2^-24 of themselves; the guard is 2^-20 of
// the product, and products near the smallest floats are divided.
inline constexpr float kOverlapGuard = 9.5367431640625e-7f;
inline constexpr float kMinOverlap = 1e-30f;

/// True if the overlap exceeds the threshold; false for NaN.
KB_HD inline bool exceeds(const Rules& rules, float overlap) {
  return rules.contract.iou_inclusive ? overlap >= rules.iou_threshold
                                      : overlap > rules.iou_threshold;
}

/// True if the quotient common / both exceeds the threshold; false for 0 / 0. A comparison of
/// products would differ at the threshold.
KB_HD inline bool divided_exceeds(const Rules& rules, float intersection, float union_area) {
  return exceeds(rules, intersection / union_area);
}

/// Compares common / both with the threshold without a division. @param union_area not negative.
KB_HD inline Guess guess_exceeds(const Rules& rules, float intersection, float union_area) {
  const float bound = rules.iou_threshold * union_area, beyond = intersection - bound;
  return {beyond > 0, magnitude(beyond) > bound * kOverlapGuard && bound > kMinOverlap};
}

/// Returns the box shifted by the contract's class offset, with its rounding.
KB_HD inline Box shifted(const Box& box, const NmsContract& contract, uint32_t class_id) {
  if (contract.class_offset == 0) return box;
  const float by = static_cast<float>(class_id) * contract.class_offset;
  return {box.x1 + by, box.y1 + by, box.x2 + by, box.y2 + by};
}

/// True if shapes whose bounds do not touch never overlap.
KB_HD inline bool disjoint_never_overlap(const Rules& rules) {
  return !rules.contract.empty_overlap &&
         (rules.iou_threshold > 0.0f || !rules.contract.iou_inclusive);
}

/// True if upright bounds have a point in common.
KB_HD inline bool touch(const Box& a, const Box& b) {
  return (a.x1 <= b.x2) & (a.x2 >= b.x1) & (a.y1 <= b.y2) & (a.y2 >= b.y1);
}

/// Geometry of upright boxes.
struct Upright {
  using Shape = Box;
  static constexpr bool kOriented = false;

  /// Returns the box with x1 <= x2 and y1 <= y2 if the contract allows any two opposite corners.
  KB_HD static Shape shape(const Box& box, float, const NmsContract& contract, uint32_t class_id) {
    return shifted(ordered(box, contract), contract, class_id);
  }

  KB_HD static float area(const Shape& s, const NmsContract& contract) {
    return extent(s.x1, s.x2, contract) * extent(s.y1, s.y2, contract);
  }

  /// Includes the extra pixel of some contracts.
  KB_HD static Box bounds(const Shape& s, const Rules& rules) {
    const float pixel = rules.contract.pixel();
    return {s.x1, s.y1, s.x2 + pixel, s.y2 + pixel};
  }

  /// Guesses the IoU, intersection / union. Never certain for contracts with a rule for empty
  /// boxes.
  KB_HD static Guess guess(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    const float shared = intersection(a, b, rules.contract);
    Guess out = guess_exceeds(rules, shared, (area_a + area_b) - shared);
    out.sure &= !rules.contract.empty_overlap;
    return out;
  }

  KB_HD static bool decide(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    if (rules.contract.empty_overlap && signed_area(a) + signed_area(b) <= 0.0f) return true;
    const float shared = intersection(a, b, rules.contract);
    return divided_exceeds(rules, shared, (area_a + area_b) - shared);
  }

  /// Returns the IoU.
  KB_HD static float measure(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                             float area_b) {
    if (rules.contract.empty_overlap && signed_area(a) + signed_area(b) <= 0.0f) return 1.0f;
    const float shared = intersection(a, b, rules.contract);
    return shared / ((area_a + area_b) - shared);
  }

  KB_HD static float distance(const Shape& a, const Shape& b) {
    const float dx = (a.x1 + a.x2) * 0.5f - (b.x1 + b.x2) * 0.5f;
    const float dy = (a.y1 + a.y2) * 0.5f - (b.y1 + b.y2) * 0.5f;
    const float width = larger(a.x2, b.x2) - smaller(a.x1, b.x1);
    const float height = larger(a.y2, b.y2) - smaller(a.y1, b.y1);
    return (dx * dx + dy * dy) / (width * width + height * height);
  }

  KB_HD static float intersection(const Shape& a, const Shape& b, const NmsContract& contract) {
    return extent(larger(a.x1, b.x1), smaller(a.x2, b.x2), contract) *
           extent(larger(a.y1, b.y1), smaller(a.y2, b.y2), contract);
  }

  /// Returns a negative area if one axis is inverted, as OpenCV does.
  KB_HD static float signed_area(const Shape& s) { return (s.x2 - s.x1) * (s.y2 - s.y1); }

  KB_HD static float extent(float low, float high, const NmsContract& contract) {
    return larger((high - low) + contract.pixel(), 0.0f);  // adding a pixel of 0 changes nothing
  }
};

/// True if two shapes overlap beyond the threshold.
template <BoxGeometry Geometry>
KB_HD bool hits(const Rules& rules, const typename Geometry::Shape& a, float area_a,
                const typename Geometry::Shape& b, float area_b) {
  const Guess guess = Geometry::guess(rules, a, area_a, b, area_b);
  return guess.sure ? guess.over : Geometry::decide(rules, a, area_a, b, area_b);
}

/// True if IoU minus centre distance exceeds the threshold; false for two equal points.
template <BoxGeometry Geometry>
KB_HD bool hits_by_diou(const Rules& rules, const typename Geometry::Shape& a, float area_a,
                        const typename Geometry::Shape& b, float area_b) {
  return exceeds(rules, Geometry::measure(rules, a, area_a, b, area_b) - Geometry::distance(a, b));
}

template <BoxGeometry Geometry>
KB_HD typename Geometry::Shape shape_of(const NmsContract& contract, const Candidate& of) {
  return Geometry::shape(of.box, of.angle, contract, key_class(of.key));
}

/// Returns measure(rules, a, area_a, b, area_b) for the shapes of a single pair.
template <BoxGeometry Geometry, class Measure>
KB_HD auto measure_pair(const Rules& rules, const Candidate& a, const Candidate& b,
                        Measure measure) {
  const NmsContract& contract = rules.contract;
  const auto x = shape_of<Geometry>(contract, a), y = shape_of<Geometry>(contract, b);
  return measure(rules, x, Geometry::area(x, contract), y, Geometry::area(y, contract));
}

template <BoxGeometry Geometry>
KB_HD bool overlap(const Rules& rules, const Candidate& a, const Candidate& b) {
  return measure_pair<Geometry>(rules, a, b, hits<Geometry>);
}

/// Returns the overlap of two candidates, from 0 to 1.
template <BoxGeometry Geometry>
KB_HD float overlap_of(const Rules& rules, const typename Geometry::Shape& a, float area_a,
                       const typename Geometry::Shape& b, float area_b) {
  const float measured = Geometry::measure(rules, a, area_a, b, area_b);
  return measured > 0 ? measured : 0;
}

}  // namespace keepbox
