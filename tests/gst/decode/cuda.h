// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes with all their bits, and the routes of frames to them.
#pragma once

#include "tests/gst/device.h"

namespace keepbox::test {

/// Boxes with all their bits; decoders of one process share labels.
inline std::vector<std::tuple<Box, float, GQuark, std::optional<uint32_t>, std::optional<uint32_t>>>
bits(const Buffer& frame) {
  std::vector<std::tuple<Box, float, GQuark, std::optional<uint32_t>, std::optional<uint32_t>>> out;
  for (const FrameBox& b : boxes(frame))
    out.emplace_back(b.box, b.score, b.label, b.class_id, b.anchor);
  return out;
}

/// Returns the boxes of the reference backend.
inline auto expected(const Tensor& tensor, const char* caps = kSmall) {
  Harness h("boxdecode backend=reference", caps);
  const Buffer out = h.run(frame_on_host(tensor));
  EXPECT_TRUE(out) << h.error();
  auto boxes = bits(out);
  EXPECT_GT(boxes.size(), 20u);
  return boxes;
}

struct Routes {
  guint64 zero_copy, uploaded, downloaded;
  friend bool operator==(const Routes&, const Routes&) = default;
};

inline Routes routes(GstElement* element) {
  return {counted(element, "zero-copy-frames"), counted(element, "uploaded-frames"),
          counted(element, "downloaded-frames")};
}

}  // namespace keepbox::test
