// SPDX-License-Identifier: LGPL-2.1-or-later
// boxtrack under a harness, and frames of boxes for it.
#pragma once

#include <string>
#include <vector>

#include "gst/metas/skippedmodels.h"
#include "gst/tensors/provenance.h"
#include "tests/gst/metas/parts.h"

namespace keepbox::test {

inline constexpr const char* kTrackCaps =
    "video/x-raw,format=RGB,width=640,height=480,framerate=25/1,pixel-aspect-ratio=1/1";
inline constexpr GstClockTime kStep = GST_SECOND / 25;
inline constexpr float kSpeed = 4;  // pixels per frame

using IdList = std::vector<guint64>;

/// Returns the ids of boxes; 0 for none.
inline IdList ids(const std::vector<FrameBox>& list) {
  IdList out;
  for (const FrameBox& box : list) out.push_back(box.tracking_id.value_or(0));
  return out;
}

inline FrameBox at(float x, float y = 100, float score = 0.9f) {
  return plain_box({x, y, x + 60, y + 120}, score);
}

/// boxtrack, with frames of boxes.
struct Track : Harness {
  explicit Track(const std::string& props = "", const char* caps = kTrackCaps)
      : Harness("boxtrack " + props, caps) {}

  Buffer frame(guint number) const {
    Buffer out = empty_frame();
    GST_BUFFER_PTS(out.get()) = number * kStep;
    return out;
  }
  /// Runs a frame on which the model found these. @param skipped a model that is noted as one that
  /// did not look at it; nullptr: none.
  Buffer see(guint number, std::vector<FrameBox> list, const char* skipped = nullptr) {
    Buffer in = frame(number);
    attach_boxes(in.get(), list, {.frame = {640, 480}});
    if (skipped != nullptr) note_skipped_model(in.get(), g_quark_from_string(skipped));
    return run(in.release());
  }
  /// Runs a frame that the model left out.
  Buffer skip(guint number) {
    Buffer in = frame(number);
    note_skipped(in.get());
    attach_boxes(in.get(), {}, {.frame = {640, 480}});
    return run(in.release());
  }
  /// Runs frames with a box that moves. @return the last one.
  Buffer walk(guint from, guint to) {
    Buffer out;
    for (guint i = from; i < to; ++i) out = see(i, {at(kSpeed * static_cast<float>(i))});
    return out;
  }
  guint64 id_of(const Buffer& buffer) const { return ids(boxes(buffer)).at(0); }
};

}  // namespace keepbox::test
