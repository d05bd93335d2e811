// SPDX-License-Identifier: LGPL-2.1-or-later
// The motion of a box, filtered coordinate by coordinate.
#pragma once

#include <array>
#include <cstdint>

#include "core/formula/box.h"
#include "core/track/kalman.h"

namespace keepbox {

enum class MotionModel : uint8_t {
  kAreaAspect,    // centre, area and aspect ratio; SORT (Bewley et al. 2016, arXiv 1602.00763)
  kCenterHeight,  // centre, aspect ratio and height; DeepSORT (Wojke et al. 2017, arXiv 1703.07402)
                  // and ByteTrack
};

/// A box that moves at constant velocity, with the noise that the model's authors chose. float32,
/// one rounding per operation.
class Motion {
 public:
  /// Starts at rest. @pre the box is finite, and wider and higher than 0.
  Motion(MotionModel model, const Box& box);

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

  MotionModel model_;
  std::array<Coordinate, 4> coordinates_;
};

}  // namespace keepbox
