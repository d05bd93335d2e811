// SPDX-License-Identifier: LGPL-2.1-or-later
// A geometry that no model has: circles in boxes. Shows that suppression uses only the interface of
// core/formula/geometry.h.
#pragma once

#include "core/formula/geometry.h"

namespace keepbox::test {

/// Circle around a box's centre that touches its left and right side. The overlap is 1 - distance^2
/// / (sum of radii)^2, or 0 beyond that distance.
struct Circle {
  struct Shape {
    float x, y, radius;
  };

  static constexpr bool kOriented = false;

  KB_HD static Shape shape(const Box& raw, float, const NmsContract& contract, uint32_t class_id) {
    const Box box = shifted(raw, contract, class_id);
    const float width = (box.x2 - box.x1) + contract.pixel();
    return {(box.x1 + box.x2) * 0.5f, (box.y1 + box.y2) * 0.5f, magnitude(width) * 0.5f};
  }

  KB_HD static float area(const Shape& s, const NmsContract&) { return s.radius * s.radius; }

  KB_HD static Box bounds(const Shape& s, const Rules&) {
    // Slightly larger, because of rounding.
    const float reach = s.radius * 1.001f + 0.01f;
    return {s.x - reach, s.y - reach, s.x + reach, s.y + reach};
  }

  KB_HD static Guess guess(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    return {decide(rules, a, area_a, b, area_b), true};
  }

  KB_HD static bool decide(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    return exceeds(rules, measure(rules, a, area_a, b, area_b));
  }

  KB_HD static float measure(const Rules&, const Shape& a, float, const Shape& b, float) {
    const float dx = a.x - b.x, dy = a.y - b.y, reach = a.radius + b.radius;
    const float apart = dx * dx + dy * dy, most = reach * reach;
    return (most - apart) / most;  // NaN for two points, which do not overlap
  }

  KB_HD static float distance(const Shape& a, const Shape& b) {
    const float dx = a.x - b.x, dy = a.y - b.y, reach = a.radius + b.radius;
    return (dx * dx + dy * dy) / (4 * (reach * reach));
  }
};

static_assert(BoxGeometry<Circle>);

}  // namespace keepbox::test
