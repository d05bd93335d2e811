// SPDX-License-Identifier: LGPL-2.1-or-later
// One element's frames on their way through its model.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "gst/infer/frameline.h"
#include "gst/infer/model.h"

namespace keepbox {

/// Rules for skipping frames.
struct SkipRules {
  guint interval = 1;  // the model runs on every frame of that many
  bool hold = false;   // skipped frames get the tensors of the last run
};

/// Gives frames to the model, and completes them in their order. For the streaming thread, except
/// model().interrupt().
class InferStream {
 public:
  /// @param element posts the messages and outlives the stream. @param like see Model.
  explicit InferStream(GstElement* element, const Model* like = nullptr) : model_(element, like) {}

  Model& model() { return model_; }
  const Model& model() const { return model_; }

  /// Gives a frame to the model, or skips it. The frame follows by push(). Waits until the model is
  /// loaded.
  /// @param order see Inferencer::begin(). @param late skip it in any case.
  Status begin(GstBuffer* frame, const SkipRules& rules, uint64_t order, bool late);
  /// Adds the frame of the last begin(). Takes ownership.
  void push(GstBuffer* frame) { line_.push(frame); }

  bool empty() const { return line_.empty(); }
  /// True if the first frame is to leave.
  bool is_full() const { return line_.size() >= model_.max_pending(); }

  /// A frame with its tensors.
  struct Completed {
    OwnedBuffer buffer;
    FrameUse use;
    bool held;              // has tensors of an earlier run
    GstClockTime took = 0;  // since begin(), of inferred frames
    Status status = {};     // of the run; without tensors if it failed
  };
  /// Takes out the first frame, with its tensors or a note that it has none on purpose.
  /// @pre !empty().
  Completed complete();

  /// Drops all frames, whose results do not matter.
  void clear() { line_.clear(); }
  /// Starts again, independent of earlier frames. @pre empty().
  void forget();

 private:
  Model model_;
  FrameLine line_;
  guint64 since_ = 0;  // frames since the model ran, including that frame; 0 before
};

}  // namespace keepbox
