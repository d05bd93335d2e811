// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame whose tensors are on their way.
#pragma once

#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/infer/inferredtensor.h"

namespace keepbox {

/// The time spent per step of a frame. On a GPU these are times of an earlier frame, to avoid
/// waiting.
struct InferTimes {
  double input_us = 0;  // making the input, uploads included
  double model_us = 0;
  double queued_us = 0;  // waiting for frames before it
};

/// A frame that was given to a model. If it is destroyed before finish(), its results are dropped.
class PendingFrame {
 public:
  virtual ~PendingFrame() = default;

  /// Returns one tensor per output, in the model's order. Waits until the frame's run was started.
  /// Called once. kInterrupted if the element was stopped.
  virtual Result<std::vector<InferredTensor>> finish() = 0;

  virtual InferTimes times() const = 0;
};

/// A frame whose run was started in the streaming thread, without a batch.
class StartedFrame : public PendingFrame {
 public:
  StartedFrame(std::vector<InferredTensor> tensors, InferTimes times)
      : tensors_(std::move(tensors)), times_(times) {}
  Result<std::vector<InferredTensor>> finish() override { return std::move(tensors_); }
  InferTimes times() const override { return times_; }

 private:
  std::vector<InferredTensor> tensors_;
  InferTimes times_;
};

}  // namespace keepbox
