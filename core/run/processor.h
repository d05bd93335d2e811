// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes frames: a plan and the runner of a backend.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/threads.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/payload.h"
#include "core/run/tile_merger.h"

namespace keepbox {

/// Decodes frames of one form. Not thread-safe. run() allocates nothing, except for masks larger
/// than any before.
class Processor {
 public:
  /// Returns kNoResource if the memory for the plan is not available.
  /// @param backend from select_backend() for this plan.
  /// @param memory where the tensors will be.
  /// @param threads thread pool to split large tensors on the host backends; outlives the
  /// processor.
  static Result<Processor> create(Plan plan, Selection backend,
                                  MemorySpace memory = MemorySpace::kSystem,
                                  ThreadPool* threads = nullptr);

  /// Makes run() return kInterrupted soon after another thread sets the flag. Runners and mask
  /// kernels do not check it. @param flag outlives the processor.
  void stop_by(const std::atomic<bool>* flag) { stop_ = Stop(flag); }

  /// Changes thresholds and classes from the next frame.
  Status retune(const Settings& settings);

  /// Replaces the model-to-frame mapping, from the next run(). @param tiles as many as in the plan.
  void refit(const Letterbox& letterbox, std::span<const Tile> tiles, Size frame) {
    keepbox::refit(plan_, letterbox, tiles, frame);
  }

  /// Sets the maps of the frames of the next run() of a joint plan. @pre their models' sizes are
  /// that of the plan, and there are at most plan().frames().
  void set_maps(std::span<const Letterbox> maps) { std::ranges::copy(maps, plan_.maps.begin()); }
  /// Changes thresholds, classes, sizes and regions of a joint plan. @param like the plan that it
  /// was made from, after retune().
  Status retune_joint(const Plan& like);

  /// Decodes one frame, a batch of frames, the tiles of a frame or, by a joint plan, some frames.
  /// @param tensors those listed in plan().reads, in that order; for a joint plan those of each
  /// frame, one frame after the other. Returns kTruncated if a tensor is shorter than its
  /// dimensions, kMismatch if the backend needs those of all frames one after the other in memory,
  /// kNoResource if there is no memory for masks, kInterrupted after the flag of stop_by() is set.
  Status run(std::span<const TensorView> tensors);

  /// Enqueues what run() does on a stream, without payloads, and returns at once. @param tensors as
  /// for run(), in device memory.
  Status enqueue(std::span<const TensorView> tensors, const DeviceOutput& output);

  /// Returns the boxes of a frame, best first, clipped to it. Valid until the next run().
  /// @param frame below plan().frames().
  std::span<const Detection> detections(uint32_t frame = 0) const {
    return merger_ ? merger_->detections() : runner_->detections(frame);
  }
  /// Returns their payload, plan().payload.count values per box; may be empty for masks. Valid
  /// until the next run().
  std::span<const float> payload(uint32_t frame = 0) const;
  /// Returns the payload as keypoints in frame pixels, or none if it is another one.
  std::span<const Keypoint> keypoints(uint32_t frame = 0) const;
  /// Returns one mask per box, or none if the plan computes no masks. Valid until the next run().
  std::span<const Mask> masks(uint32_t frame = 0) const {
    if (merger_) return merger_->masks();
    return payload_stages_.empty() ? std::span<const Mask>() : payload_stages_[frame].masks();
  }
  const Funnel& funnel(uint32_t frame = 0) const {
    return merger_ ? merger_->funnel() : runner_->funnel(frame);
  }

  /// Returns the counts of an image, before the boxes of tiles are joined.
  /// @param image below plan().layout.images.
  const Funnel& image_funnel(uint32_t image) const { return runner_->funnel(image); }

  const Plan& plan() const { return plan_; }
  const Backend& backend() const { return *selection_.backend; }
  const std::string& backend_reason() const { return selection_.reason; }

 private:
  Processor(Plan plan, Selection backend, std::unique_ptr<Runner> runner);
  Status check_number(size_t tensors) const;

  Plan plan_;
  Selection selection_;
  std::unique_ptr<Runner> runner_;
  std::vector<PayloadStage> payload_stages_;  // one per image, if boxes have a payload
  std::optional<TileMerger> merger_;          // if the images are tiles
  Stop stop_;
};

}  // namespace keepbox
