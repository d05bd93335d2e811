// SPDX-License-Identifier: LGPL-2.1-or-later
// Device and processor of a stream's frames.
#include "gst/decode/stream.h"

#include <algorithm>

#include "gst/base/error.h"
#include "gst/base/props.h"
#include "gst/decode/settings.h"

namespace keepbox {
namespace {

constexpr const char* kWithoutDevice = "set backend=auto";

bool is_device_failure(const Status& status) {
  return !status && status.error().kind == ErrorKind::kNoResource;
}

}  // namespace

bool DeviceChoice::is_device(std::string_view name) {
  const Backend* backend = find_backend(name);
  return backend != nullptr && backend->memory != MemorySpace::kSystem;
}

void DeviceChoice::set_props(const DecodeProps& props) {
  if (props.device_id != index_) device_->clear();
  index_ = props.device_id;
  const std::string chosen = nick_of(backend_words(), props.backend);
  if (chosen != chosen_) avoided_.clear();
  chosen_ = chosen;
  in_force_ = wanted_backend(chosen_);
}

void DeviceChoice::start() {
  failed_ = false;
  in_force_ = wanted_backend(chosen_);  // the environment may have changed
  avoided_.clear();
  logged_.clear();
}

Status DeviceChoice::check() {
  if (!is_forced()) return {};
  const auto context = device_->ensure(element_, index_, kWithoutDevice);
  failed_ = !context;
  KB_TRY(context);
  return {};
}

MemorySpace DeviceChoice::wanted_memory() const {
  const MemorySpace memory = device_->memory();
  const bool wanted = automatic() ? avoided_.empty() && unsupported_.empty() &&
                                        std::ranges::contains(backends(), memory, &Backend::memory)
                                  : is_forced();
  return wanted ? memory : MemorySpace::kSystem;
}

Status DeviceChoice::map(FrameTensors& tensors, std::span<const uint32_t> which,
                         MemorySpace preferred) {
  Status mapped = tensors.map(which, preferred);
  downloaded_ = downloaded_ || tensors.downloaded();
  failed_ = is_device_failure(mapped);
  return mapped;
}

Result<DeviceContext> DeviceChoice::context_for(const FrameTensors& tensors) {
  if (tensors.context()) {
    device_->adopt(tensors.context());
    return tensors.context();
  }
  if (!is_forced()) return DeviceContext();
  return device_->ensure(element_, index_, kWithoutDevice);
}

Result<Selection> DeviceChoice::select(const Plan& plan, MemorySpace memory) const {
  auto selection = select_backend(chosen_, plan, memory);
  const std::string& why = avoided_.empty() ? unsupported_ : avoided_;
  if (selection && !why.empty()) selection->reason += "; not on the GPU: " + why;
  return selection;
}

void DeviceChoice::log_unsupported() {
  if (unsupported_ != logged_ && !unsupported_.empty())
    GST_CAT_WARNING_OBJECT(decode_log(), element_, "decoding on the CPU: %s", unsupported_.c_str());
  logged_ = unsupported_;
}

void DeviceChoice::leave(const Error& error) {
  avoid(error);
  Error warning = error;
  warning.hint += warning.hint.empty() ? "" : "; ";
  warning.hint += "this and later frames are decoded on the CPU";
  post_warning(element_, warning);
}

void DeviceChoice::note_failure(const Status& status) {
  failed_ = is_forced() && is_device_failure(status);
}

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
