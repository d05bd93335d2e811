// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks for the boxes of two patches on a frame.
#pragma once

#include "tests/gst/infer/infer.h"

namespace keepbox::test {

class InferModels : public Inference {
 protected:
  /// Checks for boxes on the red and on the blue patch of frames of that size.
  void expect_boxes(const std::string& line, const std::string& format, int width, int height) {
    const std::string caps = raw(format, width, height);
    const Rect red{width / 8, height / 5, width / 2, height / 2};
    const Rect blue{width * 5 / 8, height / 2, width * 7 / 8, height * 9 / 10};
    Harness h(line, caps);
    const Buffer out = h.run(painted(caps, patches(red, blue)));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(boxes(out).size(), 2u) << caps;
    EXPECT_TRUE(has_box(out, "disc", red)) << caps;
    EXPECT_TRUE(has_box(out, "bar", blue)) << caps;
  }
};

}  // namespace keepbox::test
