// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of tracked objects, kept for frames on which their model did not run on these.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/formula/letterbox.h"
#include "gst/base/batches.h"
#include "gst/metas/boxes.h"

namespace keepbox {

/// Keeps the parts of each tracked object of a stream. Not thread-safe.
class KeptParts {
 public:
  /// Begins a frame. The boxes of the last one are no longer valid.
  void begin();

  /// Replaces what is kept of an object. @param parts all boxes of the frame; those of other
  /// objects are left out.
  void remember(const FrameBox& object, std::span<const FrameBox> parts);

  /// Returns the object's parts as held boxes, moved and scaled with the object, without those
  /// outside of the frame; nothing if the model never ran on it. They are valid until begin().
  std::optional<std::vector<FrameBox>> of(const FrameBox& object, Size frame);

  void forget() { *this = {}; }

 private:
  /// A part with what its box borrows.
  struct Part {
    explicit Part(const FrameBox& from);
    Part(const Part& from) : Part(from.box) {}
    Part& operator=(const Part&) = delete;

    FrameBox box;
    std::vector<Keypoint> points;
    std::vector<float> values;
    OwnedBuffer mask;
  };
  struct Object {
    FrameBox box;  // on the frame of the parts
    std::list<Part> parts;
    uint64_t seen = 0;  // number of the last frame with the object
  };
  void prune();

  std::map<ObjectKey, Object> objects_;
  std::list<Part> shown_;  // on this frame
  uint64_t frame_ = 0;
};

}  // namespace keepbox
