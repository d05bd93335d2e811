// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes as compared, by independent code.
#include "tests/parity/second/overlap.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/formula/oriented.h"
#include "tests/parity/second/nms.h"

namespace keepbox::test {
namespace {

/// True if classes are separated by an offset.
bool offset(const Plan& plan) {
  return plan.rules.contract.class_offset != 0 && !has(Bug::kOffsetForgotten);
}

/// Returns the box used for overlaps.
Box placed(const Plan& plan, const Candidate& of) {
  Box box = of.box;
  const bool reorder = plan.rules.contract.reorder_corners && !has(Bug::kNoReorder);
  if (reorder && box.x1 > box.x2) std::swap(box.x1, box.x2);
  if (reorder && box.y1 > box.y2) std::swap(box.y1, box.y2);
  if (offset(plan))
    for (float* at : {&box.x1, &box.y1, &box.x2, &box.y2})
      *at = static_cast<float>(*at + double{plan.rules.contract.class_offset} * id_of(of));
  return box;
}

/// Returns the areas of intersection and union.
std::pair<float, float> areas(const Plan& plan, const Box& a, const Box& b) {
  const float pixel = plan.rules.contract.plus_one || has(Bug::kPlusOne) ? 1.0f : 0.0f;
  const auto size = [&](float low, float high) { return std::max(high - low + pixel, 0.0f); };
  const float w = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1) + pixel, 0.0f);
  const float h = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1) + pixel, 0.0f);
  const float sum = size(a.x1, a.x2) * size(a.y1, a.y2) + size(b.x1, b.x2) * size(b.y1, b.y2);
  return {w * h, has(Bug::kFusedUnion) ? std::fma(-w, h, sum) : sum - w * h};
}

bool both_empty(const Plan& plan, const Box& a, const Box& b) {
  return plan.rules.contract.empty_overlap &&
         (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) <= 0;
}

OrientedShape oriented(const Plan& plan, const Candidate& of) {
  NmsContract contract = plan.rules.contract;
  if (!offset(plan)) contract.class_offset = 0;
  return Oriented::shape(of.box, of.angle, contract, id_of(of));
}

/// Returns the overlap of oriented boxes, without shortcuts for distant ones.
float oriented_iou(const Plan& plan, const Candidate& x, const Candidate& y) {
  const OrientedShape a = oriented(plan, x), b = oriented(plan, y);
  const Rules& rules = plan.rules;
  const bool alike = rules.contract.oriented == OrientedOverlap::kProbIou;
  if (alike != has(Bug::kOtherOverlap)) return OrientedGaussian::measure(rules, a, 0, b, 0);
  const float area_a = 4 * (a.half_w * a.half_h), area_b = 4 * (b.half_w * b.half_h);
  return OrientedPolygon::measure(rules, a, area_a, b, area_b);
}

/// Returns the squared distance of centres, relative to the diagonal around both.
float centres(const Plan& plan, const Candidate& x, const Candidate& y) {
  if (plan.rules.oriented) return Oriented::distance(oriented(plan, x), oriented(plan, y));
  const Box a = placed(plan, x), b = placed(plan, y);
  const float dx = 0.5f * (a.x1 + a.x2) - 0.5f * (b.x1 + b.x2);
  const float dy = 0.5f * (a.y1 + a.y2) - 0.5f * (b.y1 + b.y2);
  const float w = std::max(a.x2, b.x2) - std::min(a.x1, b.x1);
  const float h = std::max(a.y2, b.y2) - std::min(a.y1, b.y1);
  return (dx * dx + dy * dy) / (w * w + h * h);
}

}  // namespace

uint32_t id_of(const Candidate& c) { return key_class(c.key); }

float iou(const Plan& plan, const Candidate& x, const Candidate& y) {
  if (plan.rules.oriented) return oriented_iou(plan, x, y);
  const Box a = placed(plan, x), b = placed(plan, y);
  const auto [common, both] = areas(plan, a, b);
  return both_empty(plan, a, b) ? 1 : common / both;
}

bool reaches(const Plan& plan, float value) {
  return plan.rules.contract.iou_inclusive || has(Bug::kIouInclusive)
             ? value >= plan.rules.iou_threshold
             : value > plan.rules.iou_threshold;
}

bool comparable(const Plan& plan, const Candidate& a, const Candidate& b) {
  if (has(Bug::kClassIgnored) || id_of(a) == id_of(b)) return true;
  if (has(Bug::kClassCompared)) return false;
  const NmsContract& contract = plan.rules.contract;
  return offset(plan) || (contract.class_agnostic && contract.class_offset == 0);
}

bool hits(const Plan& plan, const Candidate& x, const Candidate& y) {
  if (!comparable(plan, x, y)) return false;
  if (plan.rules.method == NmsMethod::kDiou && !has(Bug::kDiouAsIou))
    return reaches(plan, iou(plan, x, y) - centres(plan, x, y));
  if (plan.rules.oriented) return reaches(plan, iou(plan, x, y));
  const Box a = placed(plan, x), b = placed(plan, y);
  if (both_empty(plan, a, b)) return true;
  const auto [common, both] = areas(plan, a, b);
  if (has(Bug::kProductTest)) return common > plan.rules.iou_threshold * both;
  return reaches(plan, common / both);
}

}  // namespace keepbox::test
