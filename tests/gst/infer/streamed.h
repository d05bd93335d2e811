// SPDX-License-Identifier: LGPL-2.1-or-later
// Two streams in batches, through tensorinfer and boxdecode.
#pragma once

#include <string>
#include <vector>

#include "tests/gst/infer/batched.h"
#include "tests/gst/infer/infer.h"
#include "tests/gst/streambatches.h"

namespace keepbox::test {

inline const std::string kFullSize = raw("RGB", 640, 360), kHalfSize = raw("I420", 320, 240),
                         kDeep = raw("GRAY16_LE", 320, 240);

class StreamBatches : public Inference {
 protected:
  std::string detector(const std::string& more = "") {
    return infer(ultralytics_like({320, 320}, true), more) + " ! boxdecode";
  }

  static GstBuffer* frame(const std::string& caps, int stream, int number) {
    GstBuffer* out = painted(caps, scene(stream, number));
    GST_BUFFER_PTS(out) = guint64(number) * GST_SECOND / 30;
    return out;
  }

  /// Expects the boxes that a line of its own attaches to a frame, up to rounding: on a GPU the
  /// sums of a batch have another order.
  void expect_boxes(const Buffer& got, const std::string& caps, int stream, int number) {
    Harness alone(detector(), caps);
    const Buffer plain = alone.run(frame(caps, stream, number));
    ASSERT_TRUE(plain) << alone.error();
    const std::vector<PlainBox> boxes = plain_boxes(plain);
    const std::vector<PlainBox> found = plain_boxes(got);
    EXPECT_FALSE(boxes.empty());
    ASSERT_EQ(found.size(), boxes.size()) << caps << " " << stream << " " << number;
    for (size_t i = 0; i < boxes.size(); ++i)
      EXPECT_TRUE(is_near(found[i], boxes[i])) << caps << " " << stream << " " << number;
  }
};

}  // namespace keepbox::test
