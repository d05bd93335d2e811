// SPDX-License-Identifier: LGPL-2.1-or-later
// Random tensors of heads and lists.
#pragma once

#include <cmath>

#include "tests/parity/makers.h"

namespace keepbox::test {

/// Range of random values of a tensor.
struct Span {
  float low, high;
};
inline constexpr Span kLogits{-5, 2}, kScores{0, 0.5f}, kDeltas{-1, 1.5f}, kDistances{0, 3};

inline Tensor random_numbers(Random& random, Shape shape, Span span) {
  Tensor out{.shape = shape};
  const size_t count = shape.count().value_or(0);
  for (size_t i = 0; i < count; ++i) {
    float value = uniform(random, span.low, span.high);
    if (pick(random, 0, 4000) == 0) value = std::nanf("");
    if (pick(random, 0, 30) == 0) value = span.high;  // equal ones
    out.values.push_back(value);
  }
  return out;
}

inline Input head_input(const char* detector, float threshold = 0.3f) {
  Input input;
  input.settings.frame.size = {kWidth, kHeight};
  input.settings.model_size = {kWidth, kHeight};
  input.settings.units = Units::kAuto;
  input.settings.detector = detector;
  input.settings.score_threshold = threshold;
  return input;
}

/// Converts an input to integers of 8 or 16 bits.
Input in_integers(Random& random, Input input);

}  // namespace keepbox::test
