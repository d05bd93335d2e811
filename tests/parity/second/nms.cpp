// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression by removal, by shrinking lists, and by whole matrices.
#include "tests/parity/second/nms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <numeric>
#include <tuple>
#include <vector>

#include "core/formula/numeric.h"
#include "tests/parity/second/overlap.h"

namespace keepbox::test {
namespace {

using Candidates = std::span<const Candidate>;

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
  return exp_f32(-((half ? 0.5f : 1.0f) * (over * over) / plan.rules.nms_sigma));
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
  return score * exp_f32(-worst / plan.rules.nms_sigma);
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
