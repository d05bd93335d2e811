// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures, allocates and divides the memory of a frame.
#include "core/run/workspace.h"

#include <new>

#include "core/model/nms_methods.h"

namespace keepbox {

size_t nms_lanes(const Plan& plan) {
  if (traits_of(plan.rules.method).scratch != HostScratch::kGrid) return 0;
  return (plan.rules.oriented ? kOrientedLanes : kBoxLanes) * padded(plan.rules.pre_nms_top_k);
}

size_t nms_words(const Plan& plan) {
  const size_t boxes = plan.rules.pre_nms_top_k;
  switch (traits_of(plan.rules.method).scratch) {
    // There are fewer cells than boxes and classes.
    case HostScratch::kGrid: return 2 * padded(boxes) + 2 * kMaxClasses;
    case HostScratch::kBits: return bit_words(boxes);
    case HostScratch::kWords: return boxes;
    case HostScratch::kNone: break;
  }
  return 0;
}

Scratch carve(Carver& carver, const Plan& plan) {
  Scratch scratch;
  scratch.detections =
      carver.take<Detection>(size_t{plan.layout.images} * plan.rules.kept_capacity);
  scratch.candidates = carver.take<Candidate>(plan.rules.candidates);
  scratch.slots = carver.take<SortSlot>(plan.rules.candidates);
  scratch.ordered = carver.take<Candidate>(plan.rules.candidates);
  scratch.kept = carver.take<uint32_t>(plan.rules.kept_capacity);
  scratch.nms = {carver.take<float>(nms_lanes(plan)), carver.take<uint64_t>(nms_words(plan)),
                 carver.take<uint32_t>(plan.payload.mean ? plan.rules.candidates : 0)};
  return scratch;
}

void Workspace::Free::operator()(std::byte* blob) const {
  ::operator delete(blob, std::align_val_t{Carver::kAlignment});
}

Result<Workspace> Workspace::create(const Plan& plan) {
  Workspace workspace;
  KB_TRY(workspace.fit(plan));
  return workspace;
}

Status Workspace::fit(const Plan& plan) {
  Carver measure(nullptr);
  carve(measure, plan);
  if (blob_ == nullptr || measure.used() > bytes_) {
    *this = {};
    blob_.reset(static_cast<std::byte*>(
        ::operator new(measure.used() + 1, std::align_val_t{Carver::kAlignment}, std::nothrow)));
    if (blob_ == nullptr)
      return reject(ErrorKind::kNoResource,
                    "Not enough memory for " + std::to_string(measure.used()) + " bytes",
                    "lower max-detections=");
    bytes_ = measure.used();
  }
  Carver carver(blob_.get());
  scratch_ = carve(carver, plan);
  return {};
}

}  // namespace keepbox
