// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression by removal, by shrinking lists, and by whole matrices.
#include "tests/parity/second_nms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <numeric>
#include <tuple>
#include <vector>

#include "core/formula/numeric.h"
#include "core/formula/oriented.h"

namespace keepbox::test {
namespace {

using Candidates = std::span<const Candidate>;

uint32_t id_of(const Candidate& c) { return key_class(c.key); }

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

/// Returns the IoU, or NaN.
float iou(const Plan& plan, const Candidate& x, const Candidate& y) {
  if (plan.rules.oriented) return oriented_iou(plan, x, y);
  const Box a = placed(plan, x), b = placed(plan, y);
  const auto [common, both] = areas(plan, a, b);
  return both_empty(plan, a, b) ? 1 : common / both;
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

bool reaches(const Plan& plan, float value) {
  return plan.rules.contract.iou_inclusive || has(Bug::kIouInclusive)
             ? value >= plan.rules.iou_threshold
             : value > plan.rules.iou_threshold;
}

/// True if both have the same class, or classes are merged.
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

/// Number of boxes so far, in total and per class.
class Counts {
 public:
  explicit Counts(const Plan& plan) : rules_(plan.rules) {}
  bool full(const Candidate& of) const {
    const uint32_t spare = has(Bug::kLimitOffByOne) ? 1 : 0;
    const uint32_t own = has(Bug::kClassTopKOfAll) ? all : of_class_[id_of(of)];
    return all >= rules_.kept_capacity + spare || own >= rules_.class_limit + spare;
  }
  void add(const Candidate& of) { ++all, ++of_class_[id_of(of)]; }
  uint32_t all = 0;

 private:
  const Rules& rules_;
  std::vector<uint32_t> of_class_ = std::vector<uint32_t>(kMaxClasses);
};

/// Removes the boxes that box i suppresses.
void strike(const Plan& plan, Candidates candidates, size_t i, std::vector<bool>& struck) {
  const bool shifted = has(Bug::kMaskShifted) && plan.rules.method == NmsMethod::kBitmask;
  const bool cut = has(Bug::kSegmentShort) && plan.rules.method == NmsMethod::kSegmented;
  for (size_t j = i + 1; j < candidates.size(); ++j) {
    const uint32_t id = id_of(candidates[j]);
    if (cut && std::ranges::count(candidates.subspan(j), id, id_of) == 1) continue;
    if (!hits(plan, candidates[i], candidates[j])) continue;
    const size_t at = j + (shifted && j / 64 != i / 64 ? 1 : 0);
    if (at < struck.size()) struck[at] = true;
  }
}

/// Keeps the best box, removes those it suppresses, and repeats.
uint32_t one_by_one(const Plan& plan, Candidates candidates, std::span<uint32_t> kept) {
  std::vector<bool> struck(candidates.size());
  Counts counts(plan);
  const bool fast = plan.rules.method == NmsMethod::kFast && !has(Bug::kFastByKept);
  if (fast)
    for (size_t i = candidates.size(); i-- > 0;) strike(plan, candidates, i, struck);
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    if (struck[i] && !has(Bug::kSuppressedToo)) continue;
    const bool full = counts.full(candidates[i]);
    if (full && !has(Bug::kLimitSuppresses)) continue;
    if (!struck[i] && !full) {
      kept.data()[counts.all] = i;  // past the end with a bug; detected by the guard zone
      counts.add(candidates[i]);
    }
    if (!fast && plan.rules.method != NmsMethod::kNone) strike(plan, candidates, i, struck);
  }
  return counts.all;
}

Box mean_of(const Plan& plan, const std::vector<Candidate>& boxes, const Box& otherwise) {
  float all[4] = {}, scores = 0;
  for (const Candidate& each : boxes) {
    Box box = each.box;
    if (plan.rules.contract.reorder_corners)
      box = {std::min(box.x1, box.x2), std::min(box.y1, box.y2), std::max(box.x1, box.x2),
             std::max(box.y1, box.y2)};
    const float score = std::max(key_score(each.key), 0.0f);
    const float at[] = {box.x1, box.y1, box.x2, box.y2};
    for (size_t k = 0; k < 4; ++k) all[k] += score * at[k];
    scores += score;
  }
  return std::ranges::all_of(all, [&](float& each) { return std::isfinite(each /= scores); })
             ? Box{all[0], all[1], all[2], all[3]}
             : otherwise;
}

/// Takes the best of a list with all boxes that it suppresses, until the list is empty.
uint32_t in_piles(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept) {
  const std::vector<Candidate> before(candidates.begin(), candidates.end());
  std::list<uint32_t> left(before.size());
  std::iota(left.begin(), left.end(), 0u);
  Counts counts(plan);
  while (!left.empty()) {
    const uint32_t best = left.front();
    left.pop_front();
    if (counts.full(before[best])) continue;
    std::vector<Candidate> pile{before[best]};
    for (uint32_t i = best + 1; has(Bug::kWeightedByAll) && i < before.size(); ++i)
      if (hits(plan, before[best], before[i])) pile.push_back(before[i]);
    left.remove_if([&](uint32_t i) {
      const bool joins = hits(plan, before[best], before[i]);
      if (joins && !has(Bug::kWeightedByAll)) pile.push_back(before[i]);
      return joins;
    });
    kept.data()[counts.all] = best;
    counts.add(before[best]);
    candidates[best].box = mean_of(plan, pile, before[best].box);
  }
  return counts.all;
}

uint32_t merged(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept) {
  const std::vector<Candidate> before(candidates.begin(), candidates.end());
  const uint32_t count = one_by_one(plan, before, kept);
  for (const uint32_t k : kept.first(std::min<size_t>(count, kept.size()))) {
    std::vector<Candidate> near;
    for (uint32_t i = 0; i < before.size(); ++i)
      if (i == k || hits(plan, before[k], before[i])) near.push_back(before[i]);
    candidates[k].box = mean_of(plan, near, before[k].box);
  }
  return count;
}

bool stays(const Plan& plan, const Candidate& of, float score) {
  const float threshold = plan.class_threshold[id_of(of)];
  return has(Bug::kSoftKeepsAll) || score > threshold ||
         (plan.rules.contract.score_inclusive && score == threshold);
}

/// A candidate with a changing score.
struct Scored {
  uint32_t index;
  float score;
  std::tuple<float, uint32_t> rank(Candidates all) const {
    return {-score, static_cast<uint32_t>(all[index].key)};
  }
};

/// Returns the factor of soft-gaussian.
float gaussian_of(const Plan& plan, float over) {
  const bool half = plan.rules.contract.name == "tensorflow" && !has(Bug::kSoftPartForgotten);
  return exp_f32(-((half ? 0.5f : 1.0f) * (over * over) / plan.rules.soft_sigma));
}

uint32_t softened(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept) {
  const bool gaussian = plan.rules.method == NmsMethod::kSoftGaussian;
  std::vector<Scored> left;
  for (const Candidate& each : candidates)
    left.push_back({static_cast<uint32_t>(left.size()), key_score(each.key)});
  Counts counts(plan);
  while (!left.empty()) {
    auto best = left.begin();
    if (!has(Bug::kSoftInOrder))
      best = std::ranges::min_element(left, {},
                                      [&](const Scored& each) { return each.rank(candidates); });
    const Scored taken = *best;
    left.erase(best);
    Candidate& own = candidates[taken.index];
    if (counts.full(own)) continue;
    own.key = order_key(taken.score, key_anchor(own.key), id_of(own));
    kept.data()[counts.all] = taken.index;
    counts.add(own);
    for (Scored& each : left) {
      const Candidate& other = candidates[each.index];
      const float over = comparable(plan, own, other) ? iou(plan, own, other) : 0;
      if (each.score <= 0 || !(over > 0)) continue;
      if (gaussian) each.score *= gaussian_of(plan, over);
      else if (reaches(plan, over)) each.score *= 1 - over;
    }
    std::erase_if(
        left, [&](const Scored& each) { return !stays(plan, candidates[each.index], each.score); });
  }
  return counts.all;
}

/// Returns the strongest decay of a column by any row.
float decayed(const Plan& plan, const std::vector<std::vector<float>>& over,
              const std::vector<float>& most, size_t column, float score) {
  float least = 1, worst = 0;
  for (size_t row = 0; row < column; ++row) {
    const float value = over[row][column], own = has(Bug::kMatrixUnweighed) ? 0 : most[row];
    least = std::fmin(least, (1 - value) / (1 - own));
    worst = std::fmax(worst, value * value - own * own);
  }
  if (score <= 0) return score;
  if (plan.rules.method == NmsMethod::kMatrixLinear) return score * least;
  return score * exp_f32(-worst / plan.rules.soft_sigma);
}

uint32_t by_matrix(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept) {
  const size_t n = candidates.size();
  std::vector<std::vector<float>> over(n, std::vector<float>(n));
  std::vector<float> most(n);
  for (size_t row = n; row-- > 0;)
    for (size_t column = row + 1; column < n; ++column) {
      if (!comparable(plan, candidates[row], candidates[column])) continue;
      over[row][column] = std::fmax(iou(plan, candidates[row], candidates[column]), 0.0f);
      most[column] = std::max(most[column], over[row][column]);
    }
  std::vector<Scored> scored;
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t& key = candidates[i].key;
    const float score = decayed(plan, over, most, i, key_score(key));
    key = order_key(score, key_anchor(key), key_class(key));
    if (stays(plan, candidates[i], score)) scored.push_back({i, score});
  }
  std::ranges::sort(scored, {}, [&](const Scored& each) { return each.rank(candidates); });
  Counts counts(plan);
  for (const Scored& each : scored) {
    if (counts.full(candidates[each.index])) continue;
    kept.data()[counts.all] = each.index;
    counts.add(candidates[each.index]);
  }
  return counts.all;
}

}  // namespace

uint32_t second_nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                    const NmsScratch&) {
  switch (plan.rules.method) {
    case NmsMethod::kSoftLinear:
    case NmsMethod::kSoftGaussian: return softened(plan, candidates, kept);
    case NmsMethod::kWeighted: return in_piles(plan, candidates, kept);
    case NmsMethod::kMerge:
      return (has(Bug::kMergedByRest) ? in_piles : merged)(plan, candidates, kept);
    case NmsMethod::kMatrix:
    case NmsMethod::kMatrixLinear: return by_matrix(plan, candidates, kept);
    default: return one_by_one(plan, candidates, kept);
  }
}

}  // namespace keepbox::test
