// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a processor in its own context.
#include "gst/decode/streamprocessor.h"

#include <algorithm>
#include <utility>

namespace keepbox {

namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

Result<Processor> ProcessorSite::make(const Plan& plan) const {
  auto made = Processor::create(plan, backend, memory, threads.get());
  if (made) made->stop_by(stop);
  return made;
}

bool are_alike(const ProcessorSite& a, const ProcessorSite& b) {
  return a.backend.backend == b.backend.backend && a.memory == b.memory &&
         a.memory_context == b.memory_context;
}

Status StreamProcessor::make(const PlannedTensors& planned, ProcessorSite site) {
  KB_ASSIGN(processor_, site.make(planned.plan));
  site_ = std::move(site);
  number_ = {next_number(), next_number()};
  source_ = planned.source;
  return {};
}

void StreamProcessor::drop() {
  {
    const DeviceScope scope(site_.memory_context);
    processor_.reset();
  }
  source_.reset();
  site_ = {};
  number_ = {};
}

bool StreamProcessor::on_device() const {
  return processor_ && processor_->backend().memory != MemorySpace::kSystem;
}

bool StreamProcessor::fits(const FrameTensors& tensors) const {
  return processor_ && processor_->plan().holds_for(tensors.listed()) &&
         std::ranges::all_of(processor_->plan().reads, [&](uint32_t number) {
           return same_producer(tensors.source(number), source_);
         });
}

bool StreamProcessor::reaches(const FrameTensors& tensors) const {
  return site_.memory == tensors.space() &&
         (!tensors.context() || tensors.context() == site_.memory_context);
}

bool StreamProcessor::replaces(const PlannedTensors& planned, const FrameTensors& tensors) const {
  const Plan& plan = planned.plan;
  const bool alike = same_producer(planned.source, source_) &&
                     (source_ == nullptr || (planned.source->geometry == source_->geometry &&
                                             planned.source->tiles == source_->tiles));
  return alike && processor_ && processor_->plan().provisional && plan.provisional &&
         reaches(tensors) && plan.forms == processor_->plan().forms &&
         plan.reads == processor_->plan().reads;
}

void StreamProcessor::follow(const FrameTensors& tensors) {
  const Plan& plan = processor_->plan();
  SharedProvenance now = tensors.source(plan.reads.front());
  if (now == source_) return;
  const bool moved = now->geometry != source_->geometry || now->tiles != source_->tiles;
  if (now->has_geometry() && moved && !now->objects)
    processor_->refit(now->geometry, now->tiles, plan.letterbox.frame);
  source_ = std::move(now);
}

Status StreamProcessor::retune(const Settings& settings) {
  const DeviceScope scope(site_.memory_context);
  KB_TRY(scope.status());
  number_.tuned = next_number();
  return processor_->retune(settings);
}

Status StreamProcessor::run(const FrameTensors& tensors) {
  const DeviceScope scope(site_.memory_context);
  KB_TRY(scope.status());
  return processor_->run(tensors.views());
}

}  // namespace keepbox
