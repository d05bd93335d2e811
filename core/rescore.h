// SPDX-License-Identifier: LGPL-2.1-or-later
// What the methods of suppression that change scores and boxes make of them: the same operations in
// the same order on every device.
#pragma once

#include "core/box.h"
#include "core/coding.h"
#include "core/geometry.h"
#include "core/rules.h"

namespace keepbox {

/// A score of which a part stays, 0 to 1. One that is not above 0 stays as it is: less of it would
/// be more.
KB_HD constexpr float lowered(float score, float part) { return score > 0 ? score * part : score; }

/// What soft suppression leaves of a candidate's score. @param overlap with a better box, 0 to 1.
KB_HD inline float softened(const Rules& rules, float score, float overlap) {
  if (rules.method == NmsMethod::kSoftGaussian)
    return lowered(score, exp_f32(-(overlap * overlap * rules.contract.soft_part) /
                                  rules.soft_sigma));
  return exceeds(rules, overlap) ? lowered(score, 1.0f - overlap) : score;
}

/// Does a candidate with this key still pass its class's threshold?
KB_HD inline bool still_passes(const Rules& rules, const Tables& tables, uint64_t key) {
  return passes(key_score(key), threshold_of(rules, tables, key_class(key)), rules.contract);
}

/// Matrix suppression: the least Decay that better boxes give is what counts.
struct Decay {
  float value;  // of the part of the score that stays; for gaussian ones its exponent's numerator

  /// By no box.
  KB_HD explicit Decay(const Rules& rules) : value(linear(rules) ? 1.0f : 0.0f) {}

  /// By a better box. @param overlap with it. @param most that it overlaps any box before it: as
  /// far as it is suppressed itself, it does not count.
  KB_HD void add(const Rules& rules, float overlap, float most) {
    const float by = linear(rules) ? (1.0f - overlap) / (1.0f - most)
                                   : most * most - overlap * overlap;
    if (by < value) value = by;  // NaN is no decay
  }

  KB_HD float of(const Rules& rules, float score) const {
    return lowered(score, linear(rules) ? value : exp_f32(value / rules.soft_sigma));
  }

 private:
  KB_HD static bool linear(const Rules& rules) {
    return rules.method == NmsMethod::kMatrixLinear;
  }
};

/// Boxes' mean by their scores.
struct WeightedMean {
  Box sum;
  float weight = 0;

  /// In the order of candidates.
  KB_HD void add(const NmsContract& contract, const Box& raw, float score) {
    const Box box = ordered(raw, contract);
    const float by = larger(score, 0.0f);
    sum.x1 = sum.x1 + by * box.x1;
    sum.y1 = sum.y1 + by * box.y1;
    sum.x2 = sum.x2 + by * box.x2;
    sum.y2 = sum.y2 + by * box.y2;
    weight = weight + by;
  }

  /// @param own where the mean is no number: nothing has a weight, or it is too large.
  KB_HD Box mean(const Box& own) const {
    const Box out{sum.x1 / weight, sum.y1 / weight, sum.x2 / weight, sum.y2 / weight};
    return finite(out) ? out : own;
  }
};

}  // namespace keepbox
