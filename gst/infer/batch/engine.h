// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface from a batch of pictures to their tensors, on any device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "gst/infer/inferredtensor.h"

namespace keepbox {

/// The outputs of one run, shared by the pictures in it.
class BatchResult {
 public:
  virtual ~BatchResult() = default;

  /// Returns the tensors of some pictures, one per output of the model: views of the run's memory,
  /// which they keep alive. Thread-safe. @param first the place of the first picture in the batch.
  virtual Result<std::vector<InferredTensor>> slice(unsigned first, unsigned count = 1) const = 0;

  /// Returns how long the run took, or an earlier one on a device whose runs are not waited for.
  virtual double model_us() const { return 0; }
};

/// Runs batches of one model. Each slot has room for the input of one batch. One thread launches
/// runs, another waits for them; other functions may be called from any thread.
class BatchEngine {
 public:
  virtual ~BatchEngine() = default;

  /// Starts a run of the first pictures of a slot. May return before it is complete. Runs that are
  /// under way use other slots.
  /// @param ready one per picture: when its input is complete, as the device's inferencer passed it
  /// to Batches::put(); nullptr for places without a picture.
  virtual Result<std::shared_ptr<const BatchResult>> launch(size_t slot,
                                                            std::span<void* const> ready) = 0;

  /// Waits until the run of a slot is complete. Another run may be launched meanwhile.
  virtual Status wait(size_t slot) = 0;

  /// True if runs are complete when launch() returns, so that nothing waits for them.
  virtual bool runs_in_launch() const { return false; }

  /// True if inputs are made on a device after put() returned, so that a place whose picture was
  /// given up must not be used again before its batch was run.
  virtual bool makes_inputs_later() const { return false; }

  /// Forgets an earlier cancel(). Called before each launch, without a pause in between.
  virtual void clear_cancel() {}

  /// Ends the current run early if the device can, because its results are not needed.
  virtual void cancel() {}
};

}  // namespace keepbox
