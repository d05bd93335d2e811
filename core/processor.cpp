// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the three kernels and takes what they kept back to the frame.
#include "core/processor.h"

#include <utility>

namespace keepbox {
namespace {

/// Kept candidates as detections on the frame; those outside it are left out.
uint32_t emit(const Plan& plan, std::span<const Candidate> candidates,
              std::span<const uint32_t> kept, std::span<Detection> out) {
  uint32_t count = 0;
  for (const uint32_t index : kept) {
    const Candidate& from = candidates[index];
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

Processor::Processor(Plan plan, Selection backend, Workspace workspace)
    : plan_(std::move(plan)),
      selection_(std::move(backend)),
      workspace_(std::move(workspace)),
      funnels_(plan_.layout.images),
      counts_(plan_.layout.images) {}

Result<Processor> Processor::create(Plan plan, Selection backend) {
  auto workspace = Workspace::create(plan);
  if (!workspace) return std::unexpected(workspace.error());
  return Processor(std::move(plan), std::move(backend), std::move(*workspace));
}

Status Processor::run(std::span<const TensorView> tensors) {
  for (const TensorView& tensor : tensors) KB_TRY(check_bounds(tensor));
  for (uint32_t image = 0; image < plan_.layout.images; ++image) run_image(tensors, image);
  return {};
}

void Processor::run_image(std::span<const TensorView> tensors, uint32_t image) {
  const Scratch& scratch = workspace_.scratch();
  const Backend& kernels = *selection_.backend;
  Funnel funnel;
  const uint32_t decoded = kernels.decode(plan_, tensors, image, scratch.candidates, funnel);
  const auto candidates = scratch.candidates.first(decoded);
  funnel.after_top_k = kernels.select(plan_, candidates, scratch.slots, scratch.ordered);
  const auto ordered = scratch.ordered.first(funnel.after_top_k);
  funnel.kept = kernels.nms(plan_, ordered, scratch.kept, scratch.lanes);
  const auto out = scratch.detections.subspan(size_t{image} * plan_.kept_capacity,
                                              plan_.kept_capacity);
  counts_[image] = emit(plan_, ordered, scratch.kept.first(funnel.kept), out);
  funnel.clipped_away = funnel.kept - counts_[image];
  funnels_[image] = funnel;
}

std::span<const Detection> Processor::detections(uint32_t image) const {
  return workspace_.scratch()
      .detections.subspan(size_t{image} * plan_.kept_capacity, plan_.kept_capacity)
      .first(counts_[image]);
}

}  // namespace keepbox
