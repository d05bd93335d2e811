// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan, a backend and the memory for both: tensors in, boxes out.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/crew.h"
#include "core/gatherer.h"
#include "core/plan.h"
#include "core/result.h"
#include "core/workspace.h"

namespace keepbox {

/// Decodes frames of one form. Not thread-safe; run() allocates nothing, but for masks larger than
/// all before.
class Processor {
 public:
  /// @param backend as select_backend() gave it for this plan.
  /// @param memory where the tensors will be.
  /// @param crew decodes large tensors in parts, where the backend is the host's; outlives this.
  /// kNoResource when the memory that the plan needs is not to be had.
  static Result<Processor> create(Plan plan, Selection backend,
                                  MemorySpace memory = MemorySpace::kSystem,
                                  Crew* crew = nullptr);

  /// From now on run() looks at a flag, and ends with kInterrupted soon after another thread sets it,
  /// but for a backend with a runner, and for masks. @param flag outlives this.
  void stop_by(const std::atomic<bool>* flag) { stop_ = Stop(flag); }

  /// Other thresholds and classes from the next frame on.
  Status retune(const Settings& settings);

  /// The way back to another frame from the next run() on, as refit() of plans.
  void refit(const Letterbox& letterbox, Size frame) { keepbox::refit(plan_, letterbox, frame); }

  /// Decodes one frame (or batch). @param tensors those that plan().reads names, in that order.
  /// kTruncated when a tensor is shorter than its dimensions, kNoResource when there is no memory
  /// for the masks of its boxes, kInterrupted as stop_by() says.
  Status run(std::span<const TensorView> tensors);

  /// Boxes of an image after run(), best first, clipped to the frame. Valid until the next run().
  std::span<const Detection> detections(uint32_t image = 0) const;
  /// Their points, in the frame's pixels, plan().gather.points.count for each; the same.
  std::span<const Keypoint> points(uint32_t image = 0) const {
    return gatherers_.empty() ? std::span<const Keypoint>() : gatherers_[image].points();
  }
  /// Their masks, one for each, or none where the plan makes none; the same.
  std::span<const Mask> masks(uint32_t image = 0) const {
    return gatherers_.empty() ? std::span<const Mask>() : gatherers_[image].masks();
  }
  const Funnel& funnel(uint32_t image = 0) const {
    return runner_ ? runner_->funnel(image) : funnels_[image];
  }

  const Plan& plan() const { return plan_; }
  const Backend& backend() const { return *selection_.backend; }
  const std::string& backend_reason() const { return selection_.reason; }

 private:
  Processor(Plan plan, Selection backend, Workspace workspace, std::unique_ptr<Runner> runner);
  uint32_t decode(std::span<const TensorView> tensors, uint32_t image, Funnel& funnel);
  Status make_gatherers();
  Status interrupted() const;
  Status run_kernels(std::span<const TensorView> tensors, uint32_t image);
  std::span<Detection> room(uint32_t image) const;

  Plan plan_;
  Selection selection_;
  Workspace workspace_;
  std::unique_ptr<Runner> runner_;  // of a backend that has one
  std::vector<Funnel> funnels_;
  std::vector<uint32_t> counts_;
  std::vector<Gatherer> gatherers_;  // of images, where there is something to gather
  Crew* crew_ = nullptr;
  Stop stop_;
};

}  // namespace keepbox
