// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression as an operation of its own: boxes and scores in, indices of the kept boxes out.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/workspace.h"

namespace keepbox {

/// Returns settings that keep every box that no better one suppresses: without a score threshold
/// and a maximum number of boxes, by nms-contract=exact and iou-threshold=0.5.
Settings suppression_defaults();

/// Suppresses the boxes of any number of problems. Not thread-safe. Memory is allocated only for
/// more boxes than before.
class Suppressor {
 public:
  /// Returns the errors of plan_suppression() and of the backend.
  /// @param settings from suppression_defaults(), with changes. @param backend from
  /// select_backend() for their plan; outlives the suppressor. @param device as for
  /// Backend::box_runner.
  static Result<Suppressor> create(const Settings& settings, bool oriented, const Backend& backend,
                                   int device = -1);

  /// Writes or enqueues the results. Equal scores are in the order of the contract. A class that is
  /// not possible is kInvalid; on a device only if the counts are on the host, otherwise its boxes
  /// are not kept. More candidates than a method compares in an acceptable time are kUnsupported;
  /// on a device the number of boxes counts, also of those below the score threshold.
  Status run(const BoxProblems& problems);

 private:
  explicit Suppressor(std::unique_ptr<BoxRunner> runner) : runner_(std::move(runner)) {}

  std::unique_ptr<BoxRunner> runner_;
};

/// Runs problems one after the other by a backend's kernels on host memory.
class HostBoxRunner final : public BoxRunner {
 public:
  /// @param kernels outlive the runner.
  static Result<std::unique_ptr<BoxRunner>> create(const HostKernels& kernels,
                                                   const Settings& settings, bool oriented);

  Status run(const BoxProblems& problems) override;

 private:
  HostBoxRunner(const HostKernels& kernels, const Settings& settings, Plan plan)
      : kernels_(kernels), settings_(settings), plan_(std::move(plan)) {}
  Status run(const BoxProblems& problems, uint32_t problem);

  const HostKernels& kernels_;
  Settings settings_;
  Plan plan_;
  Workspace workspace_;
};

}  // namespace keepbox
