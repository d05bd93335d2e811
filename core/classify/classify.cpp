// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes and texts of objects from a classifier's outputs.
#include "core/classify/classify.h"

#include <algorithm>
#include <format>
#include <utility>

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

namespace {

/// Returns the best class of a step; 0 with level 0 if no score is finite.
/// @param first index of the step's first score.
ClassScore best_of_step(const TensorView& scores, size_t first, Activation activation) {
  const size_t classes = scores.shape[2];
  ClassScore best;
  bool any = false;
  for (size_t i = 0; i < classes; ++i) {
    const float value = load(scores, first + i);
    if (!is_finite(value) || (any && !(value > best.level))) continue;
    best = {static_cast<uint32_t>(i), value};
    any = true;
  }
  if (!any || activation == Activation::kNone) return best;
  float sum = 0;
  for (size_t i = 0; i < classes; ++i) {
    const float value = load(scores, first + i);
    if (is_finite(value)) sum += exp_f32(value - best.level);
  }
  return {best.class_id, 1 / sum};
}

}  // namespace

Result<Characters> Characters::create(std::span<const std::string> names, size_t classes) {
  Characters out;
  out.names_.emplace_back();
  out.names_.insert(out.names_.end(), names.begin(), names.end());
  if (out.names_.size() + 1 == classes) out.names_.emplace_back(" ");
  if (out.names_.size() == classes) return out;
  return fail(
      ErrorKind::kMismatch,
      std::format("{} characters for a text recogniser of {} classes, of which one is the "
                  "blank",
                  classes - 1, classes),
      std::to_string(names.size()),
      "set label-file= to the model's dictionary, one character per line; boxdecode decodes "
      "tensors of detectors");
}

ReadText read_text(const TensorView& scores, size_t image, const Characters& characters,
                   Activation activation) {
  const size_t steps = scores.shape[1], classes = scores.shape[2];
  ReadText out;
  uint32_t last = 0;
  size_t count = 0;
  for (size_t step = 0; step < steps; ++step) {
    const ClassScore best = best_of_step(scores, (image * steps + step) * classes, activation);
    if (std::exchange(last, best.class_id) == best.class_id || best.class_id == 0) continue;
    out.text += characters[best.class_id];
    out.level += best.level;
    ++count;
  }
  if (count > 0) out.level /= static_cast<float>(count);
  return out;
}

}  // namespace keepbox
