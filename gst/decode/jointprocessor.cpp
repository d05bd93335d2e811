// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes a processor for as many frames as come together.
#include "gst/decode/jointprocessor.h"

#include <algorithm>

#include "core/plan/plan.h"

namespace keepbox {

JointProcessor::JointProcessor(const StreamProcessor& like)
    : plan_(like->plan()), site_(like.site()), alike_{like.number()} {}

bool JointProcessor::keep(std::vector<ProcessorNumber>& numbers) {
  std::erase_if(alike_,
                [&](const ProcessorNumber& each) { return std::erase(numbers, each) == 0; });
  return !alike_.empty();
}

bool JointProcessor::takes(const StreamProcessor& other) {
  const ProcessorNumber& number = other.number();
  if (std::ranges::contains(alike_, number)) return true;
  if (!are_alike(site_, other.site())) return false;
  if (are_alike(plan_, other->plan())) {
    alike_.push_back(number);
    return true;
  }
  const bool tuned = std::ranges::contains(alike_, number.made, &ProcessorNumber::made);
  if (tuned) retune(other);
  return tuned;
}

void JointProcessor::retune(const StreamProcessor& like) {
  plan_ = like->plan();
  alike_ = {like.number()};
  if (!processor_) return;
  const DeviceScope scope(site_.memory_context);
  made_ = scope.status() ? processor_->retune_joint(plan_) : scope.status();
}

bool JointProcessor::follows(const PreparedFrame& frame, const PreparedFrame& next) const {
  return site_.memory == MemorySpace::kSystem ||
         are_adjacent(frame.tensors->views(), next.tensors->views());
}

Status JointProcessor::make(size_t frames) {
  drop();
  KB_ASSIGN(processor_, site_.make(joint_plan(plan_, static_cast<uint32_t>(frames))));
  return {};
}

Status JointProcessor::run(std::span<const PreparedFrame* const> frames) {
  const DeviceScope scope(site_.memory_context);
  KB_TRY(scope.status());
  if (made_ && (!processor_ || processor_->plan().frames() < frames.size()))
    made_ = make(frames.size());
  KB_TRY(made_);
  std::vector<Letterbox> maps;
  std::vector<TensorView> tensors;
  for (const PreparedFrame* each : frames) {
    maps.push_back(each->map);
    tensors.insert(tensors.end(), each->tensors->views().begin(), each->tensors->views().end());
  }
  processor_->set_maps(maps);
  return processor_->run(tensors);
}

void JointProcessor::drop() {
  const DeviceScope scope(site_.memory_context);
  processor_.reset();
}

}  // namespace keepbox
