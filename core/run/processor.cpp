// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the kernels and maps kept boxes to the frame.
#include "core/run/processor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/formula/emit.h"

namespace keepbox {
namespace {

/// Writes kept candidates as detections on the frame. Boxes outside of it and filtered boxes are
/// overwritten by the next one, which is faster than a branch for thousands of boxes.
/// @param kept indices of the ordered candidates; on return those of the detections.
/// @param filtered incremented for each box dropped by a filter.
uint32_t emit(const Plan& plan, std::span<const Candidate> ordered, std::span<uint32_t> kept,
              std::span<Detection> out, uint32_t& filtered) {
  const Tables tables = plan.tables();
  uint32_t count = 0;
  for (const uint32_t index : kept) {
    out[count] = emitted(ordered[index], plan.letterbox, plan.rules, tables);
    kept[count] = index;
    filtered += is_filtered(out[count].box) ? 1 : 0;
    count += is_empty(out[count].box) ? 0 : 1;
  }
  return count;
}

/// Bytes of tensors that are worth a thread.
constexpr size_t kPartBytes = size_t{1} << 19;

/// Returns the number of parts, at most `most`, that have enough work each.
uint32_t parts_for(const Plan& plan, std::span<const TensorView> tensors, uint32_t most) {
  size_t bytes = 0;
  for (const TensorView& tensor : tensors) bytes += tensor.bytes / plan.layout.images;
  return static_cast<uint32_t>(
      std::clamp<size_t>(bytes / kPartBytes, 1, std::min(most, kMaxThreads)));
}

/// An image decoded in parts, each with its own range of the candidates.
struct DecodeJob {
  const Plan& plan;
  std::span<const TensorView> tensors;
  uint32_t image;
  decltype(Backend::decode) decode;
  std::span<Candidate> out;
  uint32_t parts;
  struct {
    Funnel funnel;
    uint32_t count = 0;
  } results[kMaxThreads];

  /// Returns the maximum number of candidates per anchor.
  uint32_t each() const { return plan.rules.candidates / std::max(plan.layout.anchors, 1u); }

  /// Returns the anchors of a part. Boundaries are multiples of a cache line.
  AnchorRange range(uint32_t part) const {
    const uint32_t anchors = plan.layout.anchors, each = (anchors / parts / 64 + 1) * 64;
    return {std::min(part * each, anchors), std::min((part + 1) * each, anchors)};
  }

  void run(uint32_t part) {
    const AnchorRange mine = range(part);
    Funnel funnel;
    results[part].count = decode(
        plan, tensors, image, mine,
        out.subspan(size_t{mine.first} * each(), size_t{mine.end - mine.first} * each()), funnel);
    results[part].funnel = funnel;
  }

  /// Moves the candidates together, adds up the counters and returns the number of candidates.
  uint32_t gather(Funnel& funnel) const {
    uint32_t count = 0;
    for (uint32_t part = 0; part < parts; ++part) {
      const auto& [theirs, found] = results[part];
      const size_t first = size_t{range(part).first} * each();
      if (first != count) std::ranges::copy(out.subspan(first, found), out.subspan(count).begin());
      count += found;
      funnel.anchors += theirs.anchors;
      funnel.above_threshold += theirs.above_threshold;
      funnel.not_finite += theirs.not_finite;
      funnel.after_class_filter += theirs.after_class_filter;
    }
    return count;
  }
};

}  // namespace

Processor::Processor(Plan plan, Selection backend, Workspace workspace,
                     std::unique_ptr<Runner> runner)
    : plan_(std::move(plan)),
      selection_(std::move(backend)),
      workspace_(std::move(workspace)),
      runner_(std::move(runner)),
      funnels_(plan_.layout.images),
      counts_(plan_.layout.images) {}

Status Processor::make_payload_stages() {
  if (!plan_.gather.any()) return {};
  for (uint32_t image = 0; image < plan_.layout.images; ++image) {
    auto stage = PayloadStage::create(plan_, runner_ == nullptr);
    if (!stage) return std::unexpected(stage.error());
    payload_stages_.push_back(std::move(*stage));
  }
  return {};
}

Result<Processor> Processor::create(Plan plan, Selection backend, MemorySpace memory,
                                    ThreadPool* threads) {
  if (backend.backend->runner != nullptr) {
    auto runner = backend.backend->runner(plan, memory);
    if (!runner) return std::unexpected(runner.error());
    Processor out(std::move(plan), std::move(backend), {}, std::move(*runner));
    KB_TRY(out.make_payload_stages());
    return out;
  }
  auto workspace = Workspace::create(plan);
  if (!workspace) return std::unexpected(workspace.error());
  Processor out(std::move(plan), std::move(backend), std::move(*workspace), nullptr);
  out.threads_ = threads;
  KB_TRY(out.make_payload_stages());
  return out;
}

Status Processor::retune(const Settings& settings) {
  KB_TRY(keepbox::retune(plan_, settings));
  return runner_ ? runner_->retune(plan_) : Status{};
}

Status Processor::run(std::span<const TensorView> tensors) {
  if (tensors.size() != plan_.forms.size())
    return fail(ErrorKind::kMismatch, std::to_string(plan_.forms.size()) + " tensors",
                std::to_string(tensors.size()));
  for (const TensorView& tensor : tensors) KB_TRY(check_bounds(tensor));
  for (PayloadStage& each : payload_stages_) each.clear();
  if (runner_) {
    KB_TRY(runner_->run(plan_, tensors));
    for (uint32_t image = 0; image < payload_stages_.size(); ++image)
      KB_TRY(
          payload_stages_[image].take(plan_, runner_->gathered(image), runner_->detections(image)));
    return {};
  }
  for (uint32_t image = 0; image < plan_.layout.images; ++image)
    KB_TRY(run_kernels(tensors, image));
  return {};
}

uint32_t Processor::decode(std::span<const TensorView> tensors, uint32_t image, Funnel& funnel) {
  const auto decode = selection_.backend->decode;
  const std::span<Candidate> out = workspace_.scratch().candidates;
  const uint32_t parts = threads_ == nullptr ? 1 : parts_for(plan_, tensors, threads_->size());
  if (parts == 1) return decode(plan_, tensors, image, {0, plan_.layout.anchors}, out, funnel);
  DecodeJob job{plan_, tensors, image, decode, out, parts, {}};
  threads_->run(parts, [](void* of, uint32_t i) { static_cast<DecodeJob*>(of)->run(i); }, &job);
  return job.gather(funnel);
}

Status Processor::interrupted() const {
  if (!stop_.asked()) return {};
  return fail(ErrorKind::kInterrupted, "an uninterrupted frame", "a stop request");
}

Status Processor::run_kernels(std::span<const TensorView> tensors, uint32_t image) {
  const Scratch& scratch = workspace_.scratch();
  NmsScratch nms = scratch.nms;
  nms.stop = stop_;
  const Backend& kernels = *selection_.backend;
  Funnel funnel;
  const uint32_t decoded = decode(tensors, image, funnel);
  KB_TRY(interrupted());
  const auto candidates = scratch.candidates.first(decoded);
  funnel.after_top_k = kernels.select(plan_, candidates, scratch.slots, scratch.ordered);
  const auto ordered = scratch.ordered.first(funnel.after_top_k);
  funnel.kept = kernels.nms(plan_, ordered, scratch.kept, nms);
  KB_TRY(interrupted());
  counts_[image] =
      emit(plan_, ordered, scratch.kept.first(funnel.kept), room(image), funnel.filtered_out);
  funnel.clipped_away = funnel.kept - counts_[image] - funnel.filtered_out;
  funnels_[image] = funnel;
  if (payload_stages_.empty()) return {};
  return payload_stages_[image].run(plan_, kernels, tensors, image,
                                    room(image).first(counts_[image]),
                                    {ordered, scratch.nms.owners, scratch.kept});
}

std::span<Detection> Processor::room(uint32_t image) const {
  return workspace_.scratch().detections.subspan(size_t{image} * plan_.rules.kept_capacity,
                                                 plan_.rules.kept_capacity);
}

std::span<const Detection> Processor::detections(uint32_t image) const {
  return runner_ ? runner_->detections(image) : room(image).first(counts_[image]);
}

}  // namespace keepbox
