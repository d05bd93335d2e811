// SPDX-License-Identifier: LGPL-2.1-or-later
// Directions of movement, as OC-SORT compares them.
#pragma once

#include "core/formula/box.h"

namespace keepbox {

/// A direction: the unit vector from one centre to another; 0 if they are equal.
struct Direction {
  float x = 0, y = 0;
};

Direction direction_of(const Box& from, const Box& to);

/// Returns how well directions agree: 0.5 if they are the same, -0.5 if they are opposite, linear
/// in the angle between them; 0 if one is unknown.
float agreement(const Direction& a, const Direction& b);

}  // namespace keepbox
