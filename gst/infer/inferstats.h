// SPDX-License-Identifier: LGPL-2.1-or-later
// The counters behind tensorinfer's `stats` property.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/infer/inferencer.h"

namespace keepbox {

/// The setup of the model, settled at the start.
struct InferSetup {
  std::string provider;  // "cpu", "cuda", or another
  std::string reason;    // why it was chosen
  std::string runtime;   // "ONNX Runtime 1.21.0"
  std::string recognized;
  bool graph = false;
};

/// Describes the structure for the property.
inline constexpr const char* kInferStats =
    "Counters since the start: frames, of which inferred, skipped, held (skipped, with the "
    "tensors of the last run) and late (skipped because of qos). Microseconds per inferred "
    "frame: preprocess-us, inference-us, queue-us, and time-per-frame-us of the streaming "
    "thread. For all elements that share the model: batch-size (its maximum), batches, "
    "batch-fill (mean number of frames, tiles or objects per batch) and batch-dropped (how many "
    "of them flushes dropped). How the model runs: provider, provider-reason, runtime, cuda-graph, "
    "recognized.";

/// Counts since the start. Plain data, guarded by its owner.
class InferStats {
 public:
  void set(InferSetup setup) { setup_ = std::move(setup); }
  void add_inferred(const InferTimes& times, GstClockTime time);
  /// @param held the frame got the tensors of the last run.
  void add_between(bool held);
  /// Counts a frame that is skipped because it would be late.
  void add_late() { ++late_; }

  /// Returns the structure "tensorinfer-stats". Transfer full.
  GstStructure* structure(const BatchCounts& batches) const;

 private:
  InferSetup setup_;
  guint64 inferred_ = 0, skipped_ = 0, held_ = 0, late_ = 0;
  guint64 timed_ = 0;  // frames with known times; on a GPU they arrive with later frames
  GstClockTime time_ = 0;
  InferTimes sum_, last_;
};

}  // namespace keepbox
