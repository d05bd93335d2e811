// SPDX-License-Identifier: LGPL-2.1-or-later
// A pending frame that the GPU may still be reading.
#pragma once

#include <memory>

#include "gst/infer/batch/pending.h"
#include "gst/tensors/cudaobjects.h"

namespace keepbox {

/// Waits until a frame was read before it leaves the element, because later elements may write to
/// it, and before its memory is used again.
class HeldFrame : public PendingFrame {
 public:
  /// @param frame null if it failed. @param read an event of use kWaiting in `context`, with what
  /// keeps it alive.
  HeldFrame(std::unique_ptr<PendingFrame> frame, CudaContext context, std::shared_ptr<void> read)
      : frame_(std::move(frame)), context_(std::move(context)), read_(std::move(read)) {}
  ~HeldFrame() override;

  Result<std::vector<InferredTensor>> finish() override;
  InferTimes times() const override { return frame_->times(); }

 private:
  Status wait();

  std::unique_ptr<PendingFrame> frame_;
  CudaContext context_;
  std::shared_ptr<void> read_;  // null once it was waited for
};

}  // namespace keepbox
