// SPDX-License-Identifier: LGPL-2.1-or-later
// What boxdecode's `stats` property shows.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>

#include "core/processor.h"

namespace keepbox {

/// How a frame's tensors came to the code that decoded them.
enum class Route { kHost, kZeroCopy, kUploaded, kDownloaded };

/// Counts since the start, and the funnel of the last frame. Plain data, guarded by its owner.
class DecodeStats {
 public:
  /// Notes what decodes from now on.
  void set_processor(const Processor& processor);

  /// Counts a frame. @param funnel of its candidates, nullptr when its tensors did not fit.
  void add(const Funnel* funnel, Route route, size_t boxes, GstClockTime time);

  /// Counts a frame that an inference element left out.
  void add_skipped(GstClockTime time);

  /// Why there was not a single box on any frame so far; nothing when there was, or no frame.
  std::optional<Error> why_no_box() const;

  /// The structure "boxdecode-stats". Transfer full.
  GstStructure* structure() const;

 private:
  guint64 frames_ = 0, mismatches_ = 0, skipped_ = 0, boxes_ = 0;
  guint64 zero_copy_ = 0, uploaded_ = 0, downloaded_ = 0;
  GstClockTime time_ = 0, last_time_ = 0;
  Funnel last_;
  Funnel most_;  // the most of each count that a frame had
  Size input_;   // of the model
  std::string detector_, backend_, backend_reason_, recognised_;
};

}  // namespace keepbox
