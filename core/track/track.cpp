// SPDX-License-Identifier: LGPL-2.1-or-later
// The motion of a tracked object, predicted and corrected.
#include "core/track/track.h"

#include <algorithm>

#include "core/formula/numeric.h"

namespace keepbox {
namespace {

constexpr float squared(float x) { return x * x; }

// kCenterHeight: standard deviations as a part of the height, except for the aspect ratio.
constexpr float kPosition = 1.0f / 20, kVelocity = 1.0f / 160;
constexpr Noise kAspect = {squared(1e-2f), squared(1e-5f)};
constexpr float kAspectMeasured = squared(1e-1f);

// kAreaAspect: variances of x, y, area and aspect ratio, whose velocity is always 0.
constexpr Noise kStart = {10, 10'000}, kStartAspect = {10, 0};
constexpr std::array<Noise, 4> kStep = {{{1, 0.01f}, {1, 0.01f}, {1, 0.0001f}, {1, 0}}};
constexpr std::array<float, 4> kMeasured = {1, 1, 10, 10};

// Adaptive noise: a squared residual relative to the variance that the filter expects has the mean
// 1 if the filter is right. The published filter of ByteTrack has much less on steady objects of a
// fixed camera, hence the usual values. A few matches decide; single outliers do not.
struct Adaptation {
  float usual, least, most;  // residual; factors of the noise
};
constexpr Adaptation kOfPlace = {0.3f, 0.1f, 4}, kOfAspect = {1, 0.2f, 1};
constexpr float kLearned = 0.2f;  // weight of a match
constexpr float kLargestSurprise = 10;

constexpr const Adaptation& adaptation_of(size_t i) { return i == 2 ? kOfAspect : kOfPlace; }

std::array<float, 4> coordinates_of(MotionModel model, const Box& b) {
  const float w = b.x2 - b.x1, h = b.y2 - b.y1;
  const float x = b.x1 + w * 0.5f, y = b.y1 + h * 0.5f;
  if (model == MotionModel::kAreaAspect) return {x, y, w * h, w / h};
  return {x, y, w / h, h};
}

}  // namespace

/// Returns what one step adds to the variances of a coordinate.
Noise Motion::noise_of(size_t i) const {
  if (model_ == MotionModel::kAreaAspect) return kStep[i];
  const float height = coordinates_[3].value;
  Noise out = kAspect;
  if (i != 2) out = {squared(kPosition * height), squared(kVelocity * height)};
  if (!adapts_) return out;
  const float factor = std::clamp(surprise_[i], adaptation_of(i).least, adaptation_of(i).most);
  return {out.value * factor, out.velocity * factor};
}

/// Learns from the difference between a measured and the predicted value.
void Motion::adapt(size_t i, float measured, float variance) {
  const float residual = measured - coordinates_[i].value;
  const float seen = residual * residual / (coordinates_[i].value_variance + variance);
  const float relative = smaller(seen, kLargestSurprise) / adaptation_of(i).usual;
  surprise_[i] += kLearned * (relative - surprise_[i]);
}

float Motion::variance_of(size_t i) const {
  if (model_ == MotionModel::kAreaAspect) return kMeasured[i];
  return i == 2 ? kAspectMeasured : squared(kPosition * coordinates_[3].value);
}

Motion::Motion(MotionModel model, const Box& box, bool adapts)
    : model_(model), adapts_(adapts && model == MotionModel::kCenterHeight) {
  const auto values = coordinates_of(model, box);
  for (size_t i = 0; i < values.size(); ++i) {
    Noise start = i == 3 ? kStartAspect : kStart;
    if (model == MotionModel::kCenterHeight)
      start = i == 2
                  ? kAspect
                  : Noise{squared(2 * kPosition * values[3]), squared(10 * kVelocity * values[3])};
    coordinates_[i] = {
        .value = values[i], .value_variance = start.value, .velocity_variance = start.velocity};
  }
}

void Motion::advance(float steps, bool observed) {
  if (model_ == MotionModel::kAreaAspect) {
    Coordinate& area = coordinates_[2];
    if (area.value + area.velocity * steps <= 0.0f) area.velocity = 0;
  } else if (!observed) {
    coordinates_[3].velocity = 0;
  }
  std::array<Noise, 4> noise;  // by the height before the step
  for (size_t i = 0; i < noise.size(); ++i) noise[i] = noise_of(i);
  for (size_t i = 0; i < noise.size(); ++i) keepbox::advance(coordinates_[i], steps, noise[i]);
}

void Motion::correct(const Box& box) {
  const auto values = coordinates_of(model_, box);
  std::array<float, 4> variance;  // by the height before the correction
  for (size_t i = 0; i < variance.size(); ++i) variance[i] = variance_of(i);
  for (size_t i = 0; i < variance.size(); ++i) {
    if (adapts_) adapt(i, values[i], variance[i]);
    keepbox::correct(coordinates_[i], values[i], variance[i]);
  }
}

Box Motion::box() const {
  const auto& [x, y, third, fourth] = coordinates_;
  float w = third.value * fourth.value, h = fourth.value;
  if (model_ == MotionModel::kAreaAspect) {
    w = square_root(w);
    h = third.value / w;
  }
  if (!(w > 0.0f && h > 0.0f)) return {x.value, y.value, x.value, y.value};
  const float left = x.value - w * 0.5f, top = y.value - h * 0.5f;
  return {left, top, left + w, top + h};
}

}  // namespace keepbox
