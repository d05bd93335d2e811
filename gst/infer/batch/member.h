// SPDX-License-Identifier: LGPL-2.1-or-later
// One element's part in the batches of a shared model.
#pragma once

#include <functional>
#include <memory>

#include "gst/infer/batch/batches.h"
#include "gst/infer/batch/pending.h"

namespace keepbox {

class BatchMember {
 public:
  /// Makes the input of a place, and returns what BatchEngine::launch() needs to wait for it.
  using MakeInput = std::function<Result<std::shared_ptr<void>>(const Batches::Place& place)>;

  /// @param batches kept alive by frames that are pending. @param places maximum number of frames
  /// that are pending at a time.
  BatchMember(std::shared_ptr<Batches> batches, unsigned places);
  BatchMember(const BatchMember&) = delete;
  BatchMember& operator=(const BatchMember&) = delete;
  ~BatchMember();

  /// Puts a frame into a batch. Waits for a place. @param order see Batches::take().
  Result<std::unique_ptr<PendingFrame>> begin(uint64_t order, const MakeInput& make);

  void interrupt(bool on);
  BatchCounts counts() const;

 private:
  struct Shared;
  class Pending;
  std::shared_ptr<Shared> shared_;
};

}  // namespace keepbox
