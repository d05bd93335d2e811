// SPDX-License-Identifier: LGPL-2.1-or-later
// Second implementations of the parts of trackers, as published and as plain as possible: dense
// matrices, double, all pairs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/formula/box.h"
#include "core/track/track.h"

namespace keepbox::test {

/// The Kalman filter of a box as 8 values (7 of SORT, with a velocity of the aspect ratio that is
/// always 0) and an 8x8 covariance.
class DenseFilter {
 public:
  using Vector = std::array<double, 8>;
  using Matrix = std::array<Vector, 8>;

  DenseFilter(MotionModel model, const Box& box);
  /// One prediction of the published filter.
  void predict(bool sees = true);
  void update(const Box& box);
  Box box() const;

 private:
  std::array<double, 4> measure(const Box& box) const;

  MotionModel model_;
  Vector mean_{};
  Matrix covariance_{};
};

double iou64(const Box& a, const Box& b);

/// Returns the columns of the largest sum, found by trying all. @param weight of a pair; below 0:
/// not allowed. At equal sums the first in order, no column last.
std::vector<uint32_t> try_all(uint32_t rows, uint32_t cols,
                              const std::function<double(uint32_t, uint32_t)>& weight);

/// A box with its score, and the id that it got; 0 for none.
struct Scored {
  Box box;
  float score = 0;
  uint64_t id = 0;
};

/// ByteTrack, list by list as its authors wrote it down, frame by frame.
class PlainByteTrack {
 public:
  double high = 0.6, low = 0.1, fresh = 0.7, least = 0.2;
  int buffer = 30;

  /// Sets the ids of a frame's boxes.
  void update(std::vector<Scored>& boxes);

 private:
  struct One {
    DenseFilter filter;
    bool activated = false, lost = false;
    int started = 0, ended = 0;
    uint64_t id = 0;
    size_t box = SIZE_MAX;
  };

  void match(std::vector<Scored>& boxes, const std::vector<size_t>& rows, std::vector<size_t>& cols,
             double threshold, bool scored);

  std::vector<One> all_;  // in the order of their start
  int frame_ = 0;
  uint64_t last_ = 0;
};

}  // namespace keepbox::test
