// SPDX-License-Identifier: LGPL-2.1-or-later
// Changes of scores and boxes by the methods of suppression: the same operations in the same order
// on every device.
#pragma once

#include "core/formula/box.h"
#include "core/formula/coding.h"
#include "core/formula/geometry.h"
#include "core/formula/rules.h"

namespace keepbox {

/// Multiplies a positive score by a factor from 0 to 1. Other scores stay, because the factor would
/// raise a negative one.
KB_HD constexpr float lowered(float score, float factor) {
  return score > 0 ? score * factor : score;
}

/// Returns a candidate's score after soft suppression. @param overlap with a better box, 0 to 1.
KB_HD inline float softened(const Rules& rules, float score, float overlap) {
  if (rules.method == NmsMethod::kSoftGaussian)
    return lowered(score,
                   exp_f32(-(overlap * overlap * rules.contract.soft_factor) / rules.nms_sigma));
  return exceeds(rules, overlap) ? lowered(score, 1.0f - overlap) : score;
}

/// True if a candidate with this key still passes the threshold of its class.
KB_HD inline bool still_passes(const Rules& rules, const Tables& tables, uint64_t key) {
  return passes(key_score(key), threshold_of(rules, tables, key_class(key)), rules.contract);
}

/// Decay of a score by matrix suppression: the minimum over all better boxes.
struct Decay {
  float value;  // factor of the score; for gaussian decay the numerator of its exponent

  /// Starts without decay.
  KB_HD explicit Decay(const Rules& rules) : value(linear(rules) ? 1.0f : 0.0f) {}

  /// Adds a better box. @param overlap with it. @param max_overlap maximum overlap of that box with
  /// any box before it, which compensates its effect.
  KB_HD void add(const Rules& rules, float overlap, float max_overlap) {
    const float by = linear(rules) ? (1.0f - overlap) / (1.0f - max_overlap)
                                   : max_overlap * max_overlap - overlap * overlap;
    if (by < value) value = by;  // false for NaN
  }

  KB_HD float of(const Rules& rules, float score) const {
    return lowered(score, linear(rules) ? value : exp_f32(value / rules.nms_sigma));
  }

 private:
  KB_HD static bool linear(const Rules& rules) { return rules.method == NmsMethod::kMatrixLinear; }
};

/// Mean of boxes, weighted by score.
struct WeightedMean {
  Box sum;
  float weight = 0;

  /// Adds a box; to be called in the order of candidates.
  KB_HD void add(const NmsContract& contract, const Box& raw, float score) {
    const Box box = ordered(raw, contract);
    const float by = larger(score, 0.0f);
    sum.x1 = sum.x1 + by * box.x1;
    sum.y1 = sum.y1 + by * box.y1;
    sum.x2 = sum.x2 + by * box.x2;
    sum.y2 = sum.y2 + by * box.y2;
    weight = weight + by;
  }

  /// @param own result if the mean is not finite: no weight, or overflow.
  KB_HD Box mean(const Box& own) const {
    const Box out{sum.x1 / weight, sum.y1 / weight, sum.x2 / weight, sum.y2 / weight};
    return finite(out) ? out : own;
  }
};

}  // namespace keepbox
