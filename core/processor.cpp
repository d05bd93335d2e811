// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the three kernels and takes what they kept back to the frame.
#include "core/processor.h"

#include <ranges>
#include <utility>

namespace keepbox {
namespace {

/// Kept candidates as detections on the frame; those outside it are left out.
template <class Candidates>
uint32_t emit(const Plan& plan, const Candidates& kept, std::span<Detection> out) {
  uint32_t count = 0;
  for (const Candidate& from : kept) {
    const Box box = clip(ordered(plan.letterbox.to_frame(from.box), plan.contract),
                         plan.letterbox.frame);
    if (is_empty(box)) continue;
    out[count++] = {.box = box,
                    .score = key_score(from.key),
                    .class_id = key_class(from.key),
                    .anchor = key_anchor(from.key)};
  }
  return count;
}

}  // namespace

Processor::Processor(Plan plan, Selection backend, Workspace workspace,
                     std::unique_ptr<Runner> runner)
    : plan_(std::move(plan)),
      selection_(std::move(backend)),
      workspace_(std::move(workspace)),
      runner_(std::move(runner)),
      funnels_(plan_.layout.images),
      counts_(plan_.layout.images) {}

Result<Processor> Processor::create(Plan plan, Selection backend, MemorySpace memory) {
  const bool own_memory = backend.backend->runner != nullptr;
  auto workspace = Workspace::create(plan, own_memory ? Needs::kDetections : Needs::kKernels);
  if (!workspace) return std::unexpected(workspace.error());
  std::unique_ptr<Runner> runner;
  if (own_memory) {
    auto made = backend.backend->runner(plan, memory);
    if (!made) return std::unexpected(made.error());
    runner = std::move(*made);
  }
  return Processor(std::move(plan), std::move(backend), std::move(*workspace), std::move(runner));
}

Status Processor::run(std::span<const TensorView> tensors) {
  for (const TensorView& tensor : tensors) KB_TRY(check_bounds(tensor));
  if (runner_) KB_TRY(runner_->run(plan_, tensors));
  for (uint32_t image = 0; image < plan_.layout.images; ++image)
    runner_ ? take_kept(image) : run_kernels(tensors, image);
  return {};
}

void Processor::take_kept(uint32_t image) {
  Funnel& funnel = funnels_[image] = runner_->funnel(image);
  counts_[image] = emit(plan_, runner_->kept(image), room(image));
  funnel.clipped_away = funnel.kept - counts_[image];
}

void Processor::run_kernels(std::span<const TensorView> tensors, uint32_t image) {
  const Scratch& scratch = workspace_.scratch();
  const Backend& kernels = *selection_.backend;
  Funnel funnel;
  const uint32_t decoded = kernels.decode(plan_, tensors, image, scratch.candidates, funnel);
  const auto candidates = scratch.candidates.first(decoded);
  funnel.after_top_k = kernels.select(plan_, candidates, scratch.slots, scratch.ordered);
  const auto ordered = scratch.ordered.first(funnel.after_top_k);
  funnel.kept = kernels.nms(plan_, ordered, scratch.kept, scratch.nms);
  const auto kept = scratch.kept.first(funnel.kept) |
                    std::views::transform([&](uint32_t i) -> const Candidate& { return ordered[i]; });
  counts_[image] = emit(plan_, kept, room(image));
  funnel.clipped_away = funnel.kept - counts_[image];
  funnels_[image] = funnel;
}

std::span<Detection> Processor::room(uint32_t image) const {
  return workspace_.scratch().detections.subspan(size_t{image} * plan_.kept_capacity,
                                                 plan_.kept_capacity);
}

std::span<const Detection> Processor::detections(uint32_t image) const {
  return room(image).first(counts_[image]);
}

}  // namespace keepbox
