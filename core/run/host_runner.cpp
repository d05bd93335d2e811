// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a backend's kernels, and maps kept boxes to the frame.
#include "core/run/host_runner.h"

#include <utility>

#include "core/formula/emit.h"
#include "core/run/decode_parts.h"

namespace keepbox {
namespace {

/// Writes kept candidates as detections on the frame. Boxes outside of it and filtered boxes are
/// overwritten by the next one, which is faster than a branch for thousands of boxes.
/// @param kept indices of the ordered candidates; on return those of the detections.
/// @param filtered incremented for each box dropped by a filter.
uint32_t emit(const Plan& plan, uint32_t image, std::span<const Candidate> ordered,
              std::span<uint32_t> kept, std::span<Detection> out, uint32_t& filtered) {
  const Tables tables = plan.tables();
  const Letterbox letterbox = plan.letterbox_of(image);
  uint32_t count = 0;
  for (const uint32_t index : kept) {
    out[count] = emitted(ordered[index], letterbox, plan.rules, tables);
    kept[count] = index;
    filtered += is_filtered(out[count].box) ? 1 : 0;
    count += is_empty(out[count].box) ? 0 : 1;
  }
  return count;
}

Status check(const Stop& stop) {
  if (!stop.requested()) return {};
  return reject(ErrorKind::kInterrupted, "The frame was interrupted by a stop");
}

}  // namespace

HostRunner::HostRunner(const HostKernels& kernels, const Plan& plan, Workspace workspace,
                       ThreadPool* threads)
    : kernels_(kernels),
      workspace_(std::move(workspace)),
      threads_(threads),
      images_(plan.layout.images) {
  const size_t each = plan.rules.kept_capacity;
  for (size_t i = 0; i < images_.size(); ++i)
    images_[i].detections = workspace_.scratch().detections.subspan(i * each, each);
}

Result<std::unique_ptr<Runner>> HostRunner::create(const HostKernels& kernels, const Plan& plan,
                                                   ThreadPool* threads) {
  KB_ASSIGN(auto workspace, Workspace::create(plan));
  std::unique_ptr<HostRunner> out(new HostRunner(kernels, plan, std::move(workspace), threads));
  for (uint32_t image = 0; plan.payload.any() && image < plan.layout.images; ++image) {
    KB_ASSIGN(auto payload, HostPayload::create(plan));
    out->payloads_.push_back(std::move(payload));
  }
  return out;
}

Status HostRunner::run(const Plan& plan, std::span<const TensorView> tensors, const Stop& stop) {
  const uint32_t images = plan.images_of(tensors);
  for (uint32_t image = 0; image < images; ++image)
    KB_TRY(run(plan, plan.tensors_of(tensors, image), image, stop));
  return {};
}

Status HostRunner::run(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                       Stop stop) {
  const Scratch& scratch = workspace_.scratch();
  NmsScratch nms = scratch.nms;
  nms.stop = stop;
  Image& out = images_[image];
  Funnel funnel;
  const uint32_t decoded =
      decode_parts({kernels_.decode, plan, tensors, image}, threads_, scratch.candidates, funnel);
  KB_TRY(check(stop));
  const auto candidates = scratch.candidates.first(decoded);
  funnel.after_top_k = kernels_.select(plan, candidates, scratch.slots, scratch.ordered);
  const auto ordered = scratch.ordered.first(funnel.after_top_k);
  funnel.kept = kernels_.nms(plan, ordered, scratch.kept, nms);
  KB_TRY(check(stop));
  out.count = emit(plan, image, ordered, scratch.kept.first(funnel.kept), out.detections,
                   funnel.filtered_out);
  funnel.clipped_away = funnel.kept - out.count - funnel.filtered_out;
  out.funnel = funnel;
  if (payloads_.empty()) return {};
  return payloads_[image].run(kernels_, plan, tensors, image, detections(image),
                              {ordered, scratch.nms.owners, scratch.kept});
}

}  // namespace keepbox
