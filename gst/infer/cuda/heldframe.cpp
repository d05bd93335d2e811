// SPDX-License-Identifier: LGPL-2.1-or-later
// Waits for the event after which a frame was read.
#include "gst/infer/cuda/heldframe.h"

#include <utility>

namespace keepbox {

HeldFrame::~HeldFrame() {
  frame_.reset();
  (void)wait();
}

Result<std::vector<InferredTensor>> HeldFrame::finish() {
  auto tensors = frame_->finish();
  KB_TRY(wait());
  return tensors;
}

Status HeldFrame::wait() {
  const std::shared_ptr<void> read = std::exchange(read_, nullptr);
  if (!read) return {};
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  return cuda_status(wait_shortly(static_cast<CUevent>(read.get())), "reading a frame");
}

}  // namespace keepbox
