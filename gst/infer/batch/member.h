// SPDX-License-Identifier: LGPL-2.1-or-later
// One element's part in the batches of a shared model.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "gst/infer/batch/batches.h"
#include "gst/infer/batch/pending.h"

namespace keepbox {

class BatchMember {
 public:
  /// Makes the inputs of some adjacent pictures of a frame, and returns what BatchEngine::launch()
  /// needs to wait for them. @param first the number of the first of them in the frame.
  using MakeInputs = std::function<Result<std::shared_ptr<void>>(
      std::span<const Batches::Slot> places, unsigned first)>;

  /// @param batches kept alive by frames that are pending. @param frames maximum number of frames
  /// that are pending at a time. @param pictures maximum per frame. @param join joins the tensors
  /// of pictures that were in several batches.
  BatchMember(std::shared_ptr<Batches> batches, unsigned frames, unsigned pictures,
              JoinTensors join);
  BatchMember(const BatchMember&) = delete;
  BatchMember& operator=(const BatchMember&) = delete;
  ~BatchMember();

  /// Puts all pictures of a frame into a batch, or into several if they do not fit. Waits for
  /// places. @param order see Batches::take(). @param pictures of this frame, at least 1.
  Result<std::unique_ptr<PendingFrame>> begin(uint64_t order, unsigned pictures,
                                              const MakeInputs& make);

  void interrupt(bool on);
  BatchCounts counts() const;

 private:
  struct Shared;
  class Pending;
  std::shared_ptr<Shared> shared_;
};

}  // namespace keepbox
