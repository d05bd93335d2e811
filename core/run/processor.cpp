// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks tensors, runs frames, and finishes the payload of their boxes.
#include "core/run/processor.h"

#include <string>
#include <utility>

namespace keepbox {

Processor::Processor(Plan plan, Selection backend, std::unique_ptr<Runner> runner)
    : plan_(std::move(plan)),
      selection_(std::move(backend)),
      runner_(std::move(runner)),
      payload_stages_(plan_.payload.any() ? plan_.layout.images : 0) {}

Result<Processor> Processor::create(Plan plan, Selection backend, MemorySpace memory,
                                    ThreadPool* threads) {
  KB_ASSIGN(auto runner, backend.backend->runner(plan, memory, threads));
  Processor out(std::move(plan), std::move(backend), std::move(runner));
  if (out.plan_.tiles.empty()) return out;
  KB_ASSIGN(out.merger_, TileMerger::create(out.plan_));
  return out;
}

Status Processor::retune(const Settings& settings) {
  KB_TRY(keepbox::retune(plan_, settings));
  return runner_->retune(plan_);
}

Status Processor::retune_joint(const Plan& like) {
  Plan tuned = joint_plan(like, plan_.frames());
  tuned.maps = std::move(plan_.maps);
  plan_ = std::move(tuned);
  return runner_->retune(plan_);
}

/// Checks the number of tensors of a run.
Status Processor::check_number(size_t tensors) const {
  const size_t each = plan_.forms.size(), most = plan_.is_joint() ? plan_.frames() : 1;
  if (tensors != 0 && tensors % each == 0 && tensors / each <= most) return {};
  return fail(ErrorKind::kMismatch, std::to_string(each) + " tensors", std::to_string(tensors));
}

Status Processor::run(std::span<const TensorView> tensors) {
  KB_TRY(check_number(tensors.size()));
  for (const TensorView& tensor : tensors) KB_TRY(check_bounds(tensor));
  for (PayloadStage& each : payload_stages_) each.clear();
  KB_TRY(runner_->run(plan_, tensors, stop_));
  const uint32_t images = payload_stages_.empty() ? 0 : plan_.images_of(tensors);
  for (uint32_t image = 0; image < images; ++image)
    payload_stages_[image].run(plan_, image, runner_->payload(image));
  return merger_ ? merger_->run(plan_, *runner_, payload_stages_, stop_) : Status{};
}

Status Processor::enqueue(std::span<const TensorView> tensors, const DeviceOutput& output) {
  KB_TRY(check_number(tensors.size()));
  for (const TensorView& tensor : tensors) KB_TRY(check_bounds(tensor));
  return runner_->enqueue(plan_, tensors, output);
}

std::span<const float> Processor::payload(uint32_t frame) const {
  if (merger_) return merger_->payload();
  return payload_stages_.empty() ? std::span<const float>() : payload_stages_[frame].values();
}

std::span<const Keypoint> Processor::keypoints(uint32_t frame) const {
  if (!plan_.payload.has(Moves::kAsPoints)) return {};
  const std::span<const float> values = payload(frame);
  return {reinterpret_cast<const Keypoint*>(values.data()), values.size() / kPointValues};
}

}  // namespace keepbox
