// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the boxes of a stream's frames for writers.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/metas/readboxes.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {

/// Reads boxes, and keeps what writers need of earlier frames.
class BoxReader {
 public:
  /// Returns the boxes of the next frame, valid until the next call and as long as the buffer. From
  /// the first frame with a second model on, each has the model name of its decoder.
  std::span<const FrameBox> read(GstBuffer* buffer, Size frame);

  /// Returns the models that did not look at the frame of the last read().
  const SkippedModels& skipped() const { return skipped_; }
  guint64 frames() const { return frames_; }
  /// Returns a warning if no frame was analysed. @param element for its hint
  std::optional<Error> missing_meta_warning(const char* element) const;

 private:
  std::vector<FrameBox> boxes_;
  KeypointStore keypoints_;
  SkippedModels skipped_;
  std::set<GQuark> models_;
  guint64 frames_ = 0;
  bool analysed_ = false;  // a frame had analytics, even if without boxes
};

}  // namespace keepbox
