// SPDX-License-Identifier: LGPL-2.1-or-later
// Oriented boxes in float64, computed in other ways than in core.
#pragma once

#include <algorithm>
#include <cmath>
#include <format>
#include <string>
#include <vector>

#include "core/formula/emit.h"

namespace keepbox::test {

struct Oriented64 {
  double x, y, w, h, angle;
};

inline std::string text(const Oriented64& b) {
  return std::format(" ({} {} {} {} {})", b.x, b.y, b.w, b.h, b.angle);
}

inline Box upright(const Oriented64& b) {
  return {static_cast<float>(b.x - b.w / 2), static_cast<float>(b.y - b.h / 2),
          static_cast<float>(b.x + b.w / 2), static_cast<float>(b.y + b.h / 2)};
}

/// Rounds to floats.
inline Oriented64 rounded(const Oriented64& b) {
  const Box box = upright(b);
  return {(double{box.x1} + box.x2) / 2, (double{box.y1} + box.y2) / 2, double{box.x2} - box.x1,
          double{box.y2} - box.y1, static_cast<float>(b.angle)};
}

struct Point64 {
  double x, y;
};

inline std::vector<Point64> corners(const Oriented64& b) {
  std::vector<Point64> out;
  const double c = std::cos(b.angle), s = std::sin(b.angle);
  for (const auto& [u, v] : {Point64{-1, -1}, {1, -1}, {1, 1}, {-1, 1}})
    out.push_back(
        {b.x + u * b.w / 2 * c - v * b.h / 2 * s, b.y + u * b.w / 2 * s + v * b.h / 2 * c});
  return out;
}

/// Clips a polygon by each edge of the other in turn, then sums triangles.
inline double common_area(const Oriented64& a, const Oriented64& b) {
  std::vector<Point64> polygon = corners(a);
  const std::vector<Point64> by = corners(b);
  for (size_t e = 0; e < 4; ++e) {
    const Point64 p = by[e], q = by[(e + 1) % 4];
    const auto side = [&](const Point64& at) {
      return (q.x - p.x) * (at.y - p.y) - (q.y - p.y) * (at.x - p.x);
    };
    std::vector<Point64> next;
    for (size_t i = 0; i < polygon.size(); ++i) {
      const Point64 from = polygon[i], to = polygon[(i + 1) % polygon.size()];
      const double before = side(from), after = side(to);
      if (before >= 0) next.push_back(from);
      if ((before > 0 && after < 0) || (before < 0 && after > 0)) {
        const double t = before / (before - after);
        next.push_back({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
      }
    }
    polygon = std::move(next);
  }
  double twice = 0;
  for (size_t i = 2; i < polygon.size(); ++i)
    twice += (polygon[i - 1].x - polygon[0].x) * (polygon[i].y - polygon[0].y) -
             (polygon[i - 1].y - polygon[0].y) * (polygon[i].x - polygon[0].x);
  return twice / 2;
}

inline double polygon_iou(const Oriented64& a, const Oriented64& b) {
  const double common = common_area(a, b);
  return common / (a.w * a.h + b.w * b.h - common);
}

/// Computes ProbIoU as published, with covariances and Ultralytics' small constants.
inline double prob_iou(const Oriented64& a, const Oriented64& b) {
  struct Covariance {
    double xx, yy, xy;
  };
  const auto covariance = [](const Oriented64& of) {
    const double p = of.w * of.w / 12, q = of.h * of.h / 12;
    const double c = std::cos(of.angle), s = std::sin(of.angle);
    return Covariance{p * c * c + q * s * s, p * s * s + q * c * c, (p - q) * c * s};
  };
  constexpr double kSmall = 1e-7;
  const Covariance m = covariance(a), n = covariance(b);
  const double xx = m.xx + n.xx, yy = m.yy + n.yy, xy = m.xy + n.xy, dx = a.x - b.x, dy = a.y - b.y;
  const double whole = xx * yy - xy * xy;
  const double apart = (xx * dy * dy + yy * dx * dx - 2 * xy * dx * dy) / (whole + kSmall) / 4;
  const double one = std::max(m.xx * m.yy - m.xy * m.xy, 0.0),
               other = std::max(n.xx * n.yy - n.xy * n.xy, 0.0);
  const double unlike = std::log(whole / (4 * std::sqrt(one * other) + kSmall) + kSmall) / 2;
  const double distance = std::clamp(apart + unlike, kSmall, 100.0);
  return 1 - std::sqrt(1 - std::exp(-distance) + kSmall);
}

}  // namespace keepbox::test
