// SPDX-License-Identifier: LGPL-2.1-or-later
// Crowds that move, with misses, noise and false alarms.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/formula/box.h"

namespace keepbox::test {

struct CrowdBox {
  Box box;
  float score = 0;
  int object = -1;  // -1: a false alarm
};

/// Objects that turn constantly and come back at the edges of a picture.
class Crowd {
 public:
  Crowd(int objects, uint32_t seed, float side = 1000) : random_(seed), side_(side) {
    for (int i = 0; i < objects; ++i)
      objects_.push_back({at(0, side), at(0, side), at(0, 6.28f), at(-0.05f, 0.05f), at(1, 6),
                          at(30, 60), at(60, 120)});
  }

  /// Returns the boxes of the next frame.
  /// @param misses part of the objects that have no box, or a low score.
  std::vector<CrowdBox> next(float misses = 0.1f, float alarms = 1) {
    std::vector<CrowdBox> out;
    for (size_t i = 0; i < objects_.size(); ++i) {
      Object& o = objects_[i];
      o.angle += o.turn;
      o.x = wrapped(o.x + o.speed * std::cos(o.angle));
      o.y = wrapped(o.y + o.speed * std::sin(o.angle));
      const float kind = at(0, 1);
      if (kind < misses / 2) continue;
      const float score = kind < misses ? at(0.15f, 0.5f) : at(0.65f, 0.98f);
      const float dx = at(-2, 2), dy = at(-2, 2), dw = at(-2, 2), dh = at(-2, 2);
      out.push_back(
          {{o.x + dx, o.y + dy, o.x + o.w + dw, o.y + o.h + dh}, score, static_cast<int>(i)});
    }
    for (float left = alarms; at(0, 1) < left; --left) {
      const float x = at(0, side_), y = at(0, side_);
      out.push_back({{x, y, x + at(30, 60), y + at(60, 120)}, at(0.1f, 0.8f), -1});
    }
    return out;
  }

  float at(float low, float high) {
    return low + (high - low) * static_cast<float>(random_() & 0xffffff) / 0x1000000;
  }

 private:
  struct Object {
    float x, y, angle, turn, speed, w, h;
  };
  float wrapped(float v) const { return v < 0 ? v + side_ : v >= side_ ? v - side_ : v; }

  std::mt19937 random_;
  float side_;
  std::vector<Object> objects_;
};

}  // namespace keepbox::test
