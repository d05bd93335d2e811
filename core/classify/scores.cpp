// SPDX-License-Identifier: LGPL-2.1-or-later
// Activates scores and finds the best.
#include "core/classify/scores.h"

#include <algorithm>

#include "core/formula/numeric.h"

namespace keepbox {
namespace {

std::vector<ClassScore> finite_scores(const TensorView& scores, size_t image) {
  const size_t classes = scores.shape[1];
  std::vector<ClassScore> out;
  out.reserve(classes);
  for (size_t i = 0; i < classes; ++i) {
    const float value = load(scores, image * classes + i);
    if (is_finite(value)) out.push_back({static_cast<uint32_t>(i), value});
  }
  return out;
}

/// Applies exp(x - max) / sum, in the order of classes.
void soften(std::span<ClassScore> scores) {
  const float max_classes = std::ranges::max_element(scores, {}, &ClassScore::level)->level;
  float sum = 0;
  for (ClassScore& each : scores) sum += each.level = exp_f32(each.level - max_classes);
  for (ClassScore& each : scores) each.level /= sum;
}

void activate(std::span<ClassScore> scores, Activation activation) {
  if (activation == Activation::kSoftmax) soften(scores);
  if (activation != Activation::kSigmoid) return;
  for (ClassScore& each : scores) each.level = sigmoid(each.level);
}

}  // namespace

std::vector<ClassScore> best_classes(const TensorView& scores, size_t image,
                                     const ClassRules& rules) {
  std::vector<ClassScore> out = finite_scores(scores, image);
  if (out.empty()) return out;
  activate(out, rules.activation);
  std::erase_if(out, [&](const ClassScore& each) { return !(each.level >= rules.threshold); });
  const auto max_classes =
      out.begin() + static_cast<ptrdiff_t>(std::min<size_t>(rules.max_classes, out.size()));
  std::ranges::partial_sort(out, max_classes, [](const ClassScore& a, const ClassScore& b) {
    return a.level != b.level ? a.level > b.level : a.class_id < b.class_id;
  });
  out.erase(max_classes, out.end());
  return out;
}

}  // namespace keepbox
