// SPDX-License-Identifier: LGPL-2.1-or-later
// Scores by planes of all anchors.
#include <cmath>
#include <limits>
#include <vector>

#include "core/formula/numeric.h"
#include "tests/parity/second/nms.h"
#include "tests/parity/second/parts.h"

namespace keepbox::test {
namespace {

bool better(float value, float best) { return has(Bug::kLastClass) ? value >= best : value > best; }

float logistic(const DetectorSpec& spec, float logit) {
  if (spec.logit_limit > 0 && !has(Bug::kLogitUnlimited))
    logit = logit > spec.logit_limit    ? spec.logit_limit
            : logit < -spec.logit_limit ? -spec.logit_limit
                                        : logit;
  return sigmoid(logit);
}

/// Activated class scores and the objectness of all anchors.
struct Planes {
  std::vector<std::vector<float>> raw, active;  // by class
  std::vector<float> objectness;
};

Planes planes_of(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  const DetectorSpec& spec = *plan.spec;
  const uint32_t n = plan.layout.anchors;
  Planes out{.objectness = std::vector<float>(n, 1.0f)};
  if (there(plan, FieldId::kObjectness)) {
    out.objectness = column(plan, tensors, image, FieldId::kObjectness, 0);
    if (spec.activation == Activation::kSigmoid)
      for (float& o : out.objectness) o = logistic(spec, o);
  }
  for (uint32_t c = 0; c < plan.layout.classes; ++c)
    out.raw.push_back(column(plan, tensors, image, FieldId::kScores, c));
  out.active = out.raw;
  if (spec.activation == Activation::kSigmoid)
    for (auto& plane : out.active)
      for (float& score : plane) score = logistic(spec, score);
  if (spec.activation != Activation::kSoftmax) return out;
  for (uint32_t a = 0; a < n; ++a) {
    float top = -std::numeric_limits<float>::infinity(), sum = 0;
    for (const auto& plane : out.raw) top = plane[a] > top ? plane[a] : top;
    if (has(Bug::kSoftmaxOverflow)) top = 0;
    for (const auto& plane : out.raw) sum += exp_f32(plane[a] - top);
    for (uint32_t c = 0; c < plan.layout.classes; ++c)
      out.active[c][a] = exp_f32(out.raw[c][a] - top) / sum;
  }
  return out;
}

float joined(const Plan& plan, float objectness, float score) {
  const auto share = [](float x) { return x < 0 ? 0 : x > 1 ? 1 : x; };
  switch (plan.spec->score) {
    case ScoreRule::kClass: return score;
    case ScoreRule::kGeometricMean:
      return has(Bug::kMeanByProduct) ? share(objectness) * share(score)
                                      : std::sqrt(share(objectness) * share(score));
    case ScoreRule::kObjectness:
      return plan.layout.classes == 1 && !has(Bug::kLoneClassCounts) ? objectness
                                                                     : objectness * score;
    default: return objectness * score;
  }
}

/// True if an adjacent cell is better, by the whole map at once.
bool beaten(const Plan& plan, const Planes& planes, const Found& found) {
  const Level& level = plan.levels[0];
  const auto width = static_cast<int>(level.width);
  const auto cells = static_cast<int>(plan.layout.anchors);
  const auto at = static_cast<int>(found.anchor);
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      const int x = at % width + dx, other = at + dy * width + dx;
      if (x < 0 || x >= width || other < 0 || other >= cells) continue;
      if (has(Bug::kPeaksOfRow) && dy != 0) continue;
      if (planes.active[found.class_id][static_cast<size_t>(other)] > found.score) return true;
    }
  return false;
}

}  // namespace

bool accepted(float score, float threshold, const NmsContract& contract) {
  if (has(Bug::kNanScore)) return !(score < threshold);
  return contract.score_inclusive || has(Bug::kScoreInclusive) ? score >= threshold
                                                               : score > threshold;
}

std::vector<Found> dense_scores(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image) {
  const Planes planes = planes_of(plan, tensors, image);
  const ScoreRule rule = plan.spec->score;
  bool product =
      rule == ScoreRule::kProduct || (rule == ScoreRule::kObjectness && plan.layout.classes > 1);
  if (has(Bug::kArgmaxFirst) && product) product = false;
  if (has(Bug::kProductFirst) && rule == ScoreRule::kArgmaxFirst) product = true;
  const bool all = plan.rules.multi_label && !has(Bug::kOneLabel);
  std::vector<Found> out;
  for (uint32_t a = 0; a < plan.layout.anchors; ++a) {
    const float objectness = planes.objectness[a];
    if (there(plan, FieldId::kObjectness) && rule != ScoreRule::kGeometricMean &&
        !accepted(objectness, plan.rules.lowest_threshold, plan.rules.contract))
      continue;
    float best = 0;
    uint32_t best_class = kMaxClasses;
    for (uint32_t c = plan.rules.first_class; c < plan.rules.end_class; ++c) {
      if (has(Bug::kFilterFirst) && plan.class_wanted[c] == 0) continue;
      if (all) {
        out.push_back({a, joined(plan, objectness, planes.active[c][a]), c});
        continue;
      }
      const float value = product ? objectness * planes.active[c][a] : planes.raw[c][a];
      if (std::isnan(value) || (best_class != kMaxClasses && !better(value, best))) continue;
      best = value;
      best_class = c;
    }
    if (!all && rule == ScoreRule::kObjectness && plan.layout.classes == 1) best_class = 0;
    if (!all && best_class != kMaxClasses)
      out.push_back({a, joined(plan, objectness, planes.active[best_class][a]), best_class});
  }
  if (plan.spec->peaks && !has(Bug::kNoPeaks))
    std::erase_if(out, [&](const Found& found) { return beaten(plan, planes, found); });
  return out;
}

std::vector<Found> ready_scores(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image) {
  const auto scores = column(plan, tensors, image, FieldId::kScore, 0);
  std::vector<float> ids(scores.size()), images(scores.size(), float(image));
  if (there(plan, FieldId::kClassId)) ids = column(plan, tensors, image, FieldId::kClassId, 0);
  if (there(plan, FieldId::kImage)) images = column(plan, tensors, image, FieldId::kImage, 0);
  std::vector<Found> out;
  for (uint32_t a = 0; a < scores.size(); ++a) {
    if (images[a] != float(image) && !has(Bug::kAnyImage)) continue;
    const bool sensible = ids[a] >= 0 && ids[a] < float(kMaxClasses);
    out.push_back({a, scores[a], sensible ? static_cast<uint32_t>(ids[a]) : kMaxClasses});
  }
  return out;
}

std::vector<Found> indexed_scores(const Plan& plan, std::span<const TensorView> tensors,
                                  uint32_t image) {
  const Background background = plan.spec->background;
  const uint32_t before = background == Background::kFirst ? 1 : 0;
  const uint32_t end = plan.layout.classes - (background == Background::kLast ? 1 : 0);
  std::vector<float> index[3];
  for (uint32_t i = 0; i < 3; ++i) index[i] = column(plan, tensors, image, FieldId::kIndices, i);
  std::vector<Found> out;
  for (uint32_t row = 0; row < plan.layout.anchors; ++row) {
    if (index[0][row] != float(image)) continue;
    if (!(index[1][row] >= float(before)) || index[1][row] >= float(end)) continue;
    if (!(index[2][row] >= 0) || index[2][row] >= float(plan.layout.indexed)) continue;
    const auto id = static_cast<uint32_t>(index[1][row]);
    const auto scores = column(plan, tensors, image, FieldId::kScores, id);
    out.push_back({row, scores[static_cast<size_t>(index[2][row])], id});
  }
  return out;
}

}  // namespace keepbox::test
