// SPDX-License-Identifier: LGPL-2.1-or-later
// An object that is tracked: its state and its motion.
#pragma once

#include <array>
#include <cstdint>

#include "core/formula/box.h"
#include "core/track/assign.h"

namespace keepbox {

// Directions of movement, as OC-SORT compares them.

/// A direction: the unit vector from one centre to another; 0 if they are equal.
struct Direction {
  float x = 0, y = 0;
};

Direction direction_of(const Box& from, const Box& to);

/// Returns how well directions agree: 0.5 if they are the same, -0.5 if they are opposite, linear
/// in the angle between them; 0 if one is unknown.
float agreement(const Direction& a, const Direction& b);

// The Kalman filter of one coordinate of a box. The filters of SORT and ByteTrack have diagonal
// noise and start with diagonal covariance, so that their 8x8 matrices decompose into one 2x2 block
// per coordinate.

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

// The motion of a box, filtered coordinate by coordinate.

enum class MotionModel : uint8_t {
  kAreaAspect,    // centre, area and aspect ratio; SORT (Bewley et al. 2016, arXiv 1602.00763)
  kCenterHeight,  // centre, aspect ratio and height; DeepSORT (Wojke et al. 2017, arXiv 1703.07402)
                  // and ByteTrack
};

/// A box that moves at constant velocity, with the noise that the model's authors chose. float32,
/// one rounding per operation.
class Motion {
 public:
  /// Starts at rest. @param adapts kCenterHeight: the noise of movement follows what is seen, so
  /// that a coordinate whose values are nearer to the predicted ones than usual gets less of it.
  /// @pre the box is finite, and wider and higher than 0.
  Motion(MotionModel model, const Box& box, bool adapts = false);

  /// Moves on by a number of steps, at least 0. @param observed false for an object that is lost,
  /// whose height then stays as it is (kCenterHeight).
  void advance(float steps, bool observed = true);
  /// Corrects the motion by an observed box. @pre as for the constructor.
  void correct(const Box& box);
  /// Returns the filtered box; empty if its area is not above 0.
  Box box() const;

 private:
  Noise noise_of(size_t i) const;
  float variance_of(size_t i) const;
  void adapt(size_t i, float measured, float variance);

  MotionModel model_;
  bool adapts_;
  std::array<Coordinate, 4> coordinates_;
  std::array<float, 4> surprise_{1, 1, 1, 1};  // mean of squared residuals, relative to the usual
};

// One object that is followed from frame to frame.

/// The last boxes of an object, by the number of the analysed frame. Older ones are forgotten.
class Observations {
 public:
  /// Frames over which the direction of movement is measured; delta t of OC-SORT.
  static constexpr uint64_t kSpan = 3;

  void add(uint64_t frame, const Box& box);
  /// Returns the box of kSpan frames before `frame`, or of the next later one.
  /// @pre a box was added.
  const Box& before(uint64_t frame) const;
  const Box& last() const { return at_[last_ % at_.size()].box; }

 private:
  struct Entry {
    uint64_t frame = 0;
    Box box;
    bool set = false;
  };
  std::array<Entry, kSpan + 1> at_;
  uint64_t last_ = 0;
};

struct Track {
  /// Steps of ByteTrack; other methods do not use them.
  enum class State : uint8_t {
    kNew,   // not confirmed; ends with its first miss
    kSeen,  // matched on the last analysed frame
    kLost,  // not matched since
  };

  uint64_t id = 0;      // 0 until it is reported for the first time
  uint64_t number = 0;  // in its tracker, from 1
  uint64_t kind = 0;
  uint32_t box = 0;    // on this frame; kUnmatched: none
  Motion motion;       // at the time of the last analysed frame
  Motion seen_motion;  // at the time when it was last seen
  State state = State::kNew;
  uint32_t streak = 0;          // matches in a row, without the first box
  bool duplicate = false;       // of another track
  uint64_t seen_frame = 0;      // number of the frame on which it was last seen
  int64_t since = 0, seen = 0;  // times in ns: first and last seen
  int64_t unlooked = 0;         // ns since then in which it could not be missed; their frames are
                                // added to seen_frame
  Direction direction{};
  Observations observations{};

  /// Returns the time since which it is missed.
  int64_t missed_since() const { return seen + unlooked; }
};

}  // namespace keepbox
