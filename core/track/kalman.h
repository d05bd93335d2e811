// SPDX-License-Identifier: LGPL-2.1-or-later
// The Kalman filter of one coordinate of a box. The filters of SORT and ByteTrack have diagonal
// noise and start with diagonal covariance, so that their 8x8 matrices decompose into one 2x2 block
// per coordinate.
#pragma once

namespace keepbox {

/// A coordinate with its velocity per step, and the covariance of the two.
struct Coordinate {
  float value = 0, velocity = 0;
  float value_variance = 0, covariance = 0, velocity_variance = 0;
};

/// Variances that a filter adds per step or expects of a measurement.
struct Noise {
  float value = 0, velocity = 0;
};

/// Predicts a coordinate. For an integer number of steps it is that many predictions of the
/// published filter, x = F x and P = F P F' + Q with F = [1 1; 0 1], as a polynomial in their
/// number; the polynomial also holds for fractions of a step. Two predictions in sequence equal one
/// over all their steps.
/// @param steps at least 0. @param noise that one step adds.
inline void advance(Coordinate& c, float steps, const Noise& noise) {
  const float pairs = steps * (steps - 1.0f);  // twice the number of pairs of steps
  c.value += c.velocity * steps;
  c.value_variance += (2.0f * steps) * c.covariance + (steps * steps) * c.velocity_variance;
  c.value_variance += steps * noise.value + (pairs * (2.0f * steps - 1.0f) / 6.0f) * noise.velocity;
  c.covariance += steps * c.velocity_variance + (pairs * 0.5f) * noise.velocity;
  c.velocity_variance += steps * noise.velocity;
}

/// Corrects a coordinate by a measured value. @param variance of the measurement, above 0.
inline void correct(Coordinate& c, float measured, float variance) {
  const float total = c.value_variance + variance;
  const float value_gain = c.value_variance / total, velocity_gain = c.covariance / total;
  const float residual = measured - c.value;
  c.value += value_gain * residual;
  c.velocity += velocity_gain * residual;
  c.velocity_variance -= velocity_gain * c.covariance;
  c.value_variance = value_gain * variance;
  c.covariance = velocity_gain * variance;
}

}  // namespace keepbox
