// SPDX-License-Identifier: LGPL-2.1-or-later
// Oriented boxes: two geometries for core/formula/geometry.h, chosen by the contract, and the map
// to the frame.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/formula/geometry.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Clamps a value to -most..most.
KB_HD inline float clamp_abs(float value, float bound) {
  return value < -bound ? -bound : value > bound ? bound : value;
}

/// Rectangle about its centre. Values are clamped to 1e9, to prevent overflow.
struct OrientedShape {
  float x, y;            // the centre
  float half_w, half_h;  // not negative
  SinCos rotation;
};

/// Half sizes of an upright bounding box.
struct Extent {
  float x, y;
};

/// Members common to both geometries.
struct Oriented {
  using Shape = OrientedShape;
  static constexpr bool kOriented = true;

  /// Returns the canonical shape; class offsets shift its centre.
  KB_HD static Shape shape(const Box& box, float angle, const NmsContract& contract,
                           uint32_t class_id) {
    return moved(box, angle, static_cast<float>(class_id) * contract.class_offset);
  }

  KB_HD static Shape moved(const Box& box, float angle, float by) {
    constexpr float kMax = 1e9f;
    return {clamp_abs((box.x1 + box.x2) * 0.5f + by, kMax),
            clamp_abs((box.y1 + box.y2) * 0.5f + by, kMax),
            clamp_abs(larger(box.x2 - box.x1, 0.0f) * 0.5f, kMax),
            clamp_abs(larger(box.y2 - box.y1, 0.0f) * 0.5f, kMax), sin_cos_f32(angle)};
  }

  KB_HD static float area(const Shape& s, const NmsContract&) {
    return (s.half_w * s.half_h) * 4.0f;
  }

  /// Returns the half sizes of the upright bounding box.
  KB_HD static Extent extent(const Shape& s) {
    const float sine = magnitude(s.rotation.sin), cosine = magnitude(s.rotation.cos);
    return {s.half_w * cosine + s.half_h * sine, s.half_w * sine + s.half_h * cosine};
  }

  /// Returns a box with these half sizes about the centre, enlarged a little because of rounding.
  KB_HD static Box around(const Shape& s, const Extent& reach) {
    constexpr float kRoundingMargin = 4.76837158203125e-7f;  // 2^-21
    const float x = reach.x + (magnitude(s.x) + reach.x) * kRoundingMargin;
    const float y = reach.y + (magnitude(s.y) + reach.y) * kRoundingMargin;
    return {s.x - x, s.y - y, s.x + x, s.y + y};
  }

  KB_HD static float distance(const Shape& a, const Shape& b) {
    return Upright::distance(around(a, extent(a)), around(b, extent(b)));
  }
};

/// Overlap by area: intersection / union of the rectangles. Symmetric to the bit.
struct OrientedPolygon : Oriented {
  KB_HD static Box bounds(const Shape& s, const Rules&) { return around(s, extent(s)); }

  /// Guesses the overlap. Certain if even the maximum that bounds and areas allow is below the
  /// threshold.
  KB_HD static Guess guess(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    const float bound = max_intersection(rules, a, area_a, b, area_b);
    const Guess out = guess_exceeds(rules, bound, (area_a + area_b) - bound);
    return {out.over, out.sure && !out.over};
  }

  KB_HD static bool decide(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    return exceeds(rules, measure(rules, a, area_a, b, area_b));
  }

  KB_HD static float measure(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                             float area_b) {
    const float bound = max_intersection(rules, a, area_a, b, area_b);
    const float shared = bound > 0 ? smaller(intersection(a, b), bound) : 0.0f;
    return shared / ((area_a + area_b) - shared);
  }

  /// Returns the area of the intersection. The first shape (by compare()) is upright at the origin.
  /// The sum runs over the edges of the other shape: each contributes the strip below it, between
  /// the left and right side of the first shape, clamped to its upper and lower side.
  KB_HD_NOINLINE static float intersection(const Shape& p, const Shape& q) {
    const int order = compare(p, q);
    if (order == 0) return (p.half_w * p.half_h) * 4.0f;
    const Shape &a = order < 0 ? p : q, &b = order < 0 ? q : p;
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float x = dx * a.rotation.cos + dy * a.rotation.sin,
                y = dy * a.rotation.cos - dx * a.rotation.sin;
    const float c = a.rotation.cos * b.rotation.cos + a.rotation.sin * b.rotation.sin;
    const float s = a.rotation.cos * b.rotation.sin - a.rotation.sin * b.rotation.cos;
    const float wx = b.half_w * c, wy = b.half_w * s;  // halves of its sides
    const float hx = -(b.half_h * s), hy = b.half_h * c;
    const float x0 = (x - wx) - hx, y0 = (y - wy) - hy, x1 = (x + wx) - hx, y1 = (y + wy) - hy;
    const float x2 = (x + wx) + hx, y2 = (y + wy) + hy, x3 = (x - wx) + hx, y3 = (y - wy) + hy;
    return magnitude((strip(a, x0, y0, x1, y1) + strip(a, x2, y2, x3, y3)) +
                     (strip(a, x1, y1, x2, y2) + strip(a, x3, y3, x0, y0)));
  }

 private:
  /// Returns an upper bound of the intersection's area.
  KB_HD static float max_intersection(const Rules& rules, const Shape& a, float area_a,
                                      const Shape& b, float area_b) {
    const Box x = bounds(a, rules), y = bounds(b, rules);
    const float width = smaller(x.x2, y.x2) - larger(x.x1, y.x1);
    const float height = smaller(x.y2, y.y2) - larger(x.y1, y.y1);
    return smaller(smaller(area_a, area_b), larger(width, 0.0f) * larger(height, 0.0f));
  }

  /// Compares shapes in a total order; 0 if they are equal.
  KB_HD static int compare(const Shape& a, const Shape& b) {
    const auto by = [](float x, float y) { return x < y ? -1 : 1; };
    if (a.x != b.x) return by(a.x, b.x);
    if (a.y != b.y) return by(a.y, b.y);
    if (a.half_w != b.half_w) return by(a.half_w, b.half_w);
    if (a.half_h != b.half_h) return by(a.half_h, b.half_h);
    if (a.rotation.sin != b.rotation.sin) return by(a.rotation.sin, b.rotation.sin);
    return a.rotation.cos == b.rotation.cos ? 0 : by(a.rotation.cos, b.rotation.cos);
  }

  /// Returns the signed area between an edge and the middle of a rectangle at the origin, within
  /// it.
  KB_HD static float strip(const Shape& in, float x0, float y0, float x1, float y1) {
    const float left = clamp_abs(x0, in.half_w), right = clamp_abs(x1, in.half_w);
    if (left == right) return 0;
    const float from = left == x0 ? y0 : y0 + (left - x0) / (x1 - x0) * (y1 - y0);
    const float to = right == x1 ? y1 : y1 + (right - x1) / (x1 - x0) * (y1 - y0);
    return (right - left) * mean_within(from, to, in.half_h);
  }

  /// Returns the mean of clamp_abs() along a line between two heights.
  KB_HD static float mean_within(float from, float to, float bound) {
    const float first = clamp_abs(from, bound), last = clamp_abs(to, bound);
    if (first == last) return first;
    const float inside = (last - first) * ((first + last) * 0.5f);
    return (((first - from) * first + inside) + (to - last) * last) / (to - from);
  }
};

/// Overlap of normal distributions with the same means and covariances: 1 minus the Hellinger
/// distance (ProbIoU), with Ultralytics' small constants. Symmetric to the bit.
struct OrientedGaussian : Oriented {
  /// Returns bounds by Rules::reach: boxes whose bounds do not touch do not overlap beyond the
  /// threshold.
  KB_HD static Box bounds(const Shape& s, const Rules& rules) {
    const Variances v = variances(s);
    const float cosine = s.rotation.cos * s.rotation.cos, sine = s.rotation.sin * s.rotation.sin;
    return around(s, {square_root(v.p * cosine + v.q * sine) * rules.reach,
                      square_root(v.p * sine + v.q * cosine) * rules.reach});
  }

  KB_HD static Guess guess(const Rules& rules, const Shape& a, float, const Shape& b, float) {
    return {exceeds(rules, 0.0f), !touch(bounds(a, rules), bounds(b, rules))};
  }

  KB_HD static bool decide(const Rules& rules, const Shape& a, float area_a, const Shape& b,
                           float area_b) {
    return exceeds(rules, measure(rules, a, area_a, b, area_b));
  }

  KB_HD static float measure(const Rules& rules, const Shape& a, float, const Shape& b, float) {
    return touch(bounds(a, rules), bounds(b, rules)) ? prob_iou(a, b) : 0.0f;
  }

  /// Returns ProbIoU, computed by the angle between the boxes to avoid cancellation for nearly
  /// equal values, such as the covariances of thin boxes.
  KB_HD_NOINLINE static float prob_iou(const Shape& a, const Shape& b) {
    constexpr float kSmall = 1e-7f, kMax = 100;
    const Variances v = variances(a), w = variances(b);
    const float cosine = a.rotation.cos * b.rotation.cos + a.rotation.sin * b.rotation.sin;
    const float sine = a.rotation.cos * b.rotation.sin - a.rotation.sin * b.rotation.cos;
    const float both = ((v.p * v.q + w.p * w.q) + (v.p * w.p + v.q * w.q) * (sine * sine)) +
                       (v.p * w.q + v.q * w.p) * (cosine * cosine);
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float apart =
        (scaled_distance(a, v, dx, dy) + scaled_distance(b, w, dx, dy)) / (both + kSmall) * 0.25f;
    const float roots = ((a.half_w * a.half_h) * (b.half_w * b.half_h)) * (4.0f / 9.0f);
    const float unlike = log_f32(both / (roots + kSmall) + kSmall) * 0.5f;
    const float far = apart + unlike;
    const float distance = far < kSmall ? kSmall : far > kMax ? kMax : far;
    return 1.0f - square_root((1.0f - exp_f32(-distance)) + kSmall);
  }

 private:
  /// Variances of a uniform distribution along width and height.
  struct Variances {
    float p, q;
  };
  KB_HD static Variances variances(const Shape& s) {
    constexpr float kThird = 1.0f / 3.0f;
    return {s.half_w * s.half_w * kThird, s.half_h * s.half_h * kThird};
  }

  /// Returns the squared distance along the sides, each multiplied by the other side's variance.
  KB_HD static float scaled_distance(const Shape& s, const Variances& v, float dx, float dy) {
    const float x = dx * s.rotation.cos + dy * s.rotation.sin,
                y = dy * s.rotation.cos - dx * s.rotation.sin;
    return v.q * (x * x) + v.p * (y * y);
  }
};

/// Returns Rules::reach for a threshold, or for all overlaps.
KB_HD inline float reach_of(float threshold, bool all) {
  // The Bhattacharyya distance of boxes that are d apart along an axis is at least (d / (s + t))^2
  // / 4, for deviations s and t; from 18 the overlap is 0.
  constexpr float kLast = 18;
  const float rest = 1.0f - threshold, overlap_bound = 1.0f - rest * rest;
  const float bound = overlap_bound > 1e-8f ? -log_f32(overlap_bound) : kLast;
  return 2.002f * square_root(all || bound > kLast ? kLast : larger(bound, 1e-6f));
}

/// Sides and angle of an oriented box.
struct Sides {
  float width, height, angle;  // radians
};

/// Returns the rectangle for a box whose sides are no longer at right angles: the longer side keeps
/// its direction and length, and the area stays.
/// @param wide true if the width was the longer side.
KB_HD inline Sides sides_of(float width_x, float width_y, float height_x, float height_y,
                            bool wide) {
  const float area = magnitude(width_x * height_y - width_y * height_x);
  const float x = wide ? width_x : height_y, y = wide ? width_y : -height_x;
  const float length = square_root(x * x + y * y), other = length > 0 ? area / length : 0.0f;
  const float angle = atan2_f32(y, x);
  return wide ? Sides{length, other, angle} : Sides{other, length, angle};
}

/// Maps an oriented box to the frame, unclipped. The angle stays if both axes have the same scale.
KB_HD_NOINLINE inline Box oriented_to_frame(const Letterbox& letterbox, const Box& box,
                                            float& angle) {
  const Box out = letterbox.to_frame(box);
  const float sx = letterbox.scale_x, sy = letterbox.scale_y;
  if (sx == sy) return out;
  const float width = box.x2 - box.x1, height = box.y2 - box.y1;
  const SinCos rotation = sin_cos_f32(angle);
  const Sides sides =
      sides_of(width * rotation.cos * sx, width * rotation.sin * sy, -(height * rotation.sin * sx),
               height * rotation.cos * sy, width >= height);
  angle = sides.angle;
  return from_center((out.x1 + out.x2) * 0.5f, (out.y1 + out.y2) * 0.5f, sides.width, sides.height);
}

/// Returns the upright bounding box of an oriented box.
KB_HD_NOINLINE inline Box around_oriented(const Box& box, float angle) {
  const Oriented::Shape shape = Oriented::moved(box, angle, 0);
  return Oriented::around(shape, Oriented::extent(shape));
}

/// Returns the corners of a box whose sides are moved inwards by that many pixels. Host code.
inline Corners corners_of(const OrientedBox& in, double inset = 0) {
  const Box& b = in.box;
  if (in.angle == 0 && inset == 0)
    return {{{b.x1, b.y1}, {b.x2, b.y1}, {b.x2, b.y2}, {b.x1, b.y2}}};
  const double cosine = std::cos(double{in.angle}), sine = std::sin(double{in.angle});
  const double x = (double{b.x1} + b.x2) / 2, y = (double{b.y1} + b.y2) / 2;
  const auto half = [&](double side) {
    return inset == 0 ? side / 2 : std::max(side / 2 - inset, 0.0);
  };
  const double across = half(double{b.x2} - b.x1), down = half(double{b.y2} - b.y1);
  const auto corner = [&](double dx, double dy) {
    return Corner{x + dx * cosine - dy * sine, y + dx * sine + dy * cosine};
  };
  return {
      {corner(-across, -down), corner(across, -down), corner(across, down), corner(-across, down)}};
}

/// Returns the smallest upright box around a box; at angle 0 the box itself. Host code.
inline Box around(const OrientedBox& in) {
  if (in.angle == 0) return in.box;
  const auto& [a, b, c, d] = corners_of(in).at;
  const auto [left, right] = std::minmax({a.x, b.x, c.x, d.x});
  const auto [top, bottom] = std::minmax({a.y, b.y, c.y, d.y});
  return {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right),
          static_cast<float>(bottom)};
}

// Chooses the geometry of a plan's boxes. Host code.

static_assert(BoxGeometry<Upright> && BoxGeometry<OrientedPolygon> &&
              BoxGeometry<OrientedGaussian>);

/// Returns call.operator()<Geometry>() with the geometry of these rules.
template <class Call>
decltype(auto) with_geometry(const Rules& rules, Call call) {
  if (!rules.oriented) return call.template operator()<Upright>();
  return rules.contract.oriented == OrientedOverlap::kPolygon
             ? call.template operator()<OrientedPolygon>()
             : call.template operator()<OrientedGaussian>();
}

}  // namespace keepbox
