// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes with everything that a box may contain.
#pragma once

#include <deque>
#include <vector>

#include "gst/metas/boxes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/masks.h"

namespace keepbox::fuzz {

/// Boxes of a frame, and the data that they refer to.
class DrawnBoxes {
 public:
  /// @param most maximum number of boxes. @param frame in pixels, around which most of them are.
  DrawnBoxes(Input& input, uint32_t most, Size frame);

  std::vector<FrameBox> boxes;

 private:
  FrameBox draw(Input& input, Size frame);
  void draw_points(Input& input, Size frame, FrameKeypoints& out);
  void draw_mask(Input& input, const Box& box, FrameMask& out);

  std::deque<std::vector<Keypoint>> points_;
  std::deque<std::vector<Edge>> edges_;
  std::deque<test::TestMask> masks_;
};

/// Returns a coordinate: mostly in the frame or near it, sometimes any number.
float any_place(Input& input, uint32_t side);

/// Returns a name like those of labels, 0 for none.
GQuark any_quark(Input& input);

}  // namespace keepbox::fuzz
