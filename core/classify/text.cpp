// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes the best path of CTC.
#include "core/classify/text.h"

#include <format>
#include <utility>

#include "core/formula/numeric.h"

namespace keepbox {
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
