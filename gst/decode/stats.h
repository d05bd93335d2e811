// SPDX-License-Identifier: LGPL-2.1-or-later
// The counters of boxdecode's `stats` property.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/recognition/value_checks.h"
#include "core/run/processor.h"

namespace keepbox {

/// Describes the structure for the property.
inline constexpr const char* kDecodeStats =
    "Counters since the start, including zero-copy-frames, uploaded-frames, "
    "downloaded-frames, skipped-frames (on which the inference element did not run on "
    "purpose, or had no objects) and runs (one for all frames of a batch of streams, and "
    "one per object). Number of candidates of the last frame after each step: anchors, "
    "above-threshold, not-finite, after-class-filter, after-top-k, kept, clipped-away, "
    "filtered-out, merged-away (in favour of a box of another tile), empty-masks, "
    "for-tracker (visible to boxtrack only) and attached. What the model's boxes have: keypoints "
    "(their number), masks, and embedding (its length). image-boxes is the number of boxes of "
    "each tile before they were joined, or of each object.";

/// The path of a frame's tensors to the code that decoded them.
enum class Route { kHost, kZeroCopy, kUploaded, kDownloaded };

/// Counts since the start, and the funnel of the last frame. Plain data, guarded by its owner.
class DecodeStats {
 public:
  /// Sets the processor that decodes from now on.
  void set_processor(const Processor& processor);

  /// Counts a frame. @param funnel of its candidates, nullptr if its tensors did not fit.
  /// @param weak number of boxes for trackers only.
  void add(const Funnel* funnel, Route route, size_t boxes, size_t weak, GstClockTime time);

  /// Adds the scores of a frame of which none passed the threshold.
  void set_scores(const ScoreCount& scores);

  /// Counts runs of a processor.
  void add_runs(uint32_t runs) { runs_ += runs; }

  /// Counts a frame that the inference element skipped.
  void add_skipped(GstClockTime time);

  /// Sets the number of boxes of each tile or object of the last frame.
  void set_image_boxes(std::span<const guint> boxes) {
    image_boxes_.assign(boxes.begin(), boxes.end());
  }

  /// Returns why no frame had a box so far; std::nullopt if one had, or if there was no frame.
  std::optional<Error> why_no_box() const;

  /// Returns the structure "boxdecode-stats". Transfer full.
  GstStructure* structure() const;

 private:
  guint64 frames_ = 0, mismatches_ = 0, skipped_ = 0, boxes_ = 0, weak_ = 0, runs_ = 0;
  guint64 zero_copy_ = 0, uploaded_ = 0, downloaded_ = 0;
  GstClockTime time_ = 0, last_time_ = 0;
  guint last_boxes_ = 0, last_weak_ = 0;
  Funnel last_;
  Funnel max_counts_;  // the maximum of each count over all frames
  Size input_;         // of the model
  ScoreCount scores_;  // of frames without a candidate that were looked at
  std::vector<guint> image_boxes_;
  PayloadPlan payload_;  // of the processor
  std::string detector_, backend_, backend_reason_, recognised_;
};

}  // namespace keepbox
