// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of an element whose tensors are on their way, in their order.
#pragma once

#include <gst/gst.h>

#include <deque>
#include <utility>

#include "gst/infer/model.h"

namespace keepbox {

/// The treatment of a frame when it leaves.
enum class FrameUse { kInferred, kHeld, kSkipped };

struct LineFrame {
  OwnedBuffer buffer;
  FrameUse use = FrameUse::kInferred;
  Model::StartedRun run;   // of an inferred frame
  GstClockTime begun = 0;  // of gst_util_get_timestamp()
};

class FrameLine {
 public:
  /// Notes how the frame that is being taken is used; push() follows.
  void note(FrameUse use, Model::StartedRun run, GstClockTime begun) {
    next_ = {.use = use, .run = std::move(run), .begun = begun};
  }
  /// Adds the frame that was noted. Takes ownership.
  void push(GstBuffer* buffer) {
    next_.buffer.reset(buffer);
    frames_.push_back(std::move(next_));
  }
  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  /// Removes the first frame. @pre !empty().
  LineFrame pop() {
    LineFrame first = std::move(frames_.front());
    frames_.pop_front();
    return first;
  }
  void clear() {
    frames_.clear();
    next_ = {};
  }

 private:
  std::deque<LineFrame> frames_;
  LineFrame next_;
};

}  // namespace keepbox
