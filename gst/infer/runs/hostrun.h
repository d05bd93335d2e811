// SPDX-License-Identifier: LGPL-2.1-or-later
// A run of some pictures in system memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/scratch.h"
#include "gst/infer/modelsession.h"

namespace keepbox {

/// A run for a number of pictures: it reads the pictures' memory and values of other inputs.
class HostRun {
 public:
  /// @param runs of the session, which they outlive. @param pictures outlives the object.
  static Result<HostRun> create(const ModelSession& session, const ModelRuns& runs,
                                const ModelFacts& facts, std::span<std::byte> pictures,
                                unsigned batch);

  Result<std::vector<ModelOutput>> run() const { return run_->run(); }

 private:
  std::vector<ScratchBuffer<std::byte>> extras_;  // values of extra inputs
  std::unique_ptr<BoundRun> run_;                 // ends first
};

}  // namespace keepbox
