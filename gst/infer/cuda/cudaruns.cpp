// SPDX-License-Identifier: LGPL-2.1-or-later
// Binds inputs and outputs, captures graphs, and enqueues runs.
#include "gst/infer/cuda/cudaruns.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace keepbox {

Result<std::unique_ptr<CudaRuns>> CudaRuns::create(const CudaSession& session,
                                                   const ModelFacts& facts, unsigned batch,
                                                   std::span<const CUdeviceptr> inputs) {
  std::unique_ptr<CudaRuns> out(new CudaRuns(session, facts, batch));
  KB_TRY(out->make_extras());
  for (const CUdeviceptr input : inputs) {
    KB_ASSIGN(auto slot, out->make_slot(input));
    out->slots_.push_back(std::move(slot));
  }
  KB_TRY(out->capture_all());
  return out;
}

Result<CudaRuns::Slot> CudaRuns::make_slot(CUdeviceptr input) {
  const ModelPort& port = session_.onnx().declaration().inputs[facts_.image_input];
  KB_ASSIGN(auto begun, make_event(session_.context(), EventUse::kTime));
  KB_ASSIGN(auto done, make_event(session_.context(), EventUse::kWaiting));
  KB_ASSIGN(auto value, session_.tensor(input, batch_ * facts_.input.bytes(), facts_.input.type,
                                        bound_dims(port, facts_.input, batch_)));
  KB_ASSIGN(auto binding, session_.binding());
  KB_TRY(session_.bind_input(binding.get(), port.name, value.get()));
  KB_TRY(bind_extras(binding.get()));
  return Slot{.input = std::move(value),
              .binding = std::move(binding),
              .begun = std::move(begun),
              .done = std::move(done)};
}

Status CudaRuns::make_extras() {
  for (const SizeInput& extra : facts_.size_inputs) {
    const ModelPort& port = session_.onnx().declaration().inputs[extra.index];
    KB_ASSIGN(auto made, make_extra(port, extra.kind, facts_.input.size, batch_));
    KB_ASSIGN(auto memory, allocate(session_.context(), made.values.size()));
    KB_TRY(cuda_status(cuda_driver().copy_in(memory.get(), made.values.data(), made.values.size(),
                                             session_.stream()),
                       "copying a value to a model input"));
    session_.drain();
    KB_ASSIGN(auto value, session_.tensor(memory.get(), made.values.size(), *port.type, made.dims));
    extras_.push_back({std::move(memory), std::move(value)});
  }
  return {};
}

Status CudaRuns::bind_extras(OrtIoBinding* binding) const {
  for (size_t i = 0; i < facts_.size_inputs.size(); ++i) {
    const ModelPort& port = session_.onnx().declaration().inputs[facts_.size_inputs[i].index];
    KB_TRY(session_.bind_input(binding, port.name, extras_[i].value.get()));
  }
  return {};
}

/// Checks that there is a part per picture if there are several.
Status CudaRuns::check(std::span<const ModelOutput> outputs) const {
  if (batch_ == 1) return {};
  for (size_t i = 0; i < outputs.size(); ++i)
    KB_TRY(check_slices(session_.onnx().declaration(), i, outputs[i].shape, batch_));
  return {};
}

/// Captures graphs after a plain run, which reveals the shapes of the outputs.
Status CudaRuns::capture_all() {
  KB_ASSIGN(const auto options, session_.run_options());
  OrtIoBinding* const first = slots_.front().binding.get();
  if (!session_.graph() && batch_ == 1) return {};
  KB_TRY(session_.rebind_outputs(first));
  KB_TRY(session_.run(first, options.get()));
  session_.drain();
  KB_ASSIGN(const auto like, session_.outputs(first));
  KB_TRY(check(like));
  if (!session_.graph()) return {};
  KB_TRY(make_outputs(like));
  for (Slot& slot : slots_) KB_TRY(capture(slot, options.get()));
  return {};
}

Status CudaRuns::make_outputs(std::span<const ModelOutput> like) {
  for (const ModelOutput& each : like) {
    if (each.bytes == 0) return reject(ErrorKind::kUnsupported, "The model has an empty output");
    KB_ASSIGN(auto memory, allocate(session_.context(), each.bytes));
    const auto sizes = each.shape.dims();
    const std::vector<int64_t> dims(sizes.begin(), sizes.end());
    KB_ASSIGN(auto value, session_.tensor(memory.get(), each.bytes, each.type, dims));
    outputs_.push_back({std::move(memory), std::move(value), each.type, each.shape, each.bytes});
  }
  return {};
}

Status CudaRuns::capture(Slot& slot, const OrtRunOptions* options) {
  const auto& ports = session_.onnx().declaration().outputs;
  for (size_t i = 0; i < ports.size(); ++i)
    KB_TRY(session_.bind_output(slot.binding.get(), ports[i].name, outputs_[i].value.get()));
  // Allocations and tuning of the first run must not be captured.
  KB_TRY(session_.run(slot.binding.get(), options));
  session_.drain();
  KB_ASSIGN(auto graph, session_.capture(slot.binding.get(), options));
  slot.graph = std::move(graph);
  // Otherwise the first launch, whose frame may be wanted soon, takes that time.
  return cuda_status(cuda_driver().graph_upload(slot.graph.get(), session_.stream()),
                     "uploading a graph");
}

Status CudaRuns::start(Slot& slot, const OrtRunOptions* options) {
  if (session_.graph())
    return cuda_status(cuda_driver().graph_launch(slot.graph.get(), session_.stream()),
                       "launching the model's graph");
  KB_TRY(session_.rebind_outputs(slot.binding.get()));
  return session_.run(slot.binding.get(), options);
}

Result<std::vector<CudaOutput>> CudaRuns::run(size_t number, std::span<void* const> ready,
                                              const OrtRunOptions* options) {
  const CudaDriver& cuda = cuda_driver();
  Slot& slot = slots_[number];
  for (void* const event : ready)
    if (event != nullptr)
      KB_TRY(cuda_status(cuda.stream_wait(session_.stream(), static_cast<CUevent>(event), 0),
                         "ordering streams"));
  KB_TRY(cuda_status(cuda.event_record(slot.begun.get(), session_.stream()), "recording an event"));
  KB_TRY(start(slot, options));
  std::vector<CudaOutput> out;
  if (session_.graph()) {
    for (const Fixed& each : outputs_)
      out.push_back(
          {.data = each.memory.get(), .type = each.type, .shape = each.shape, .bytes = each.bytes});
    return out;
  }
  KB_ASSIGN(auto outputs, session_.outputs(slot.binding.get()));
  KB_TRY(check(outputs));
  for (ModelOutput& each : outputs)
    out.push_back({.value = std::move(each.value),
                   .data = reinterpret_cast<CUdeviceptr>(each.data),
                   .type = each.type,
                   .shape = each.shape,
                   .bytes = each.bytes});
  return out;
}

Status CudaRuns::end(size_t number) {
  Slot& slot = slots_[number];
  KB_TRY(cuda_status(cuda_driver().event_record(slot.done.get(), session_.stream()),
                     "recording an event"));
  slot.used = true;
  return cuda_status(
      cuda_driver().stream_wait(gst_stream_handle(session_.tensors_stream()), slot.done.get(), 0),
      "ordering streams");
}

Status CudaRuns::wait(size_t number) {
  const Slot& slot = slots_[number];
  if (!slot.used) return {};
  return cuda_status(cuda_driver().event_synchronize(slot.done.get()), "running the model");
}

double CudaRuns::microseconds(size_t number) const {
  const Slot& slot = slots_[number];
  float milliseconds = 0;
  if (!slot.used) return 0;
  const CUresult result =
      cuda_driver().event_elapsed(&milliseconds, slot.begun.get(), slot.done.get());
  return result == CUDA_SUCCESS ? milliseconds * 1e3 : 0;
}

Result<double> CudaRuns::rate() {
  constexpr int kRuns = 6;
  KB_ASSIGN(const auto options, session_.run_options());
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i <= kRuns; ++i) {  // the first warms up
    KB_ASSIGN(const auto outputs, run(0, {}, options.get()));
    KB_TRY(end(0));
    KB_TRY(wait(0));
    least = std::min(least, std::max(microseconds(0), 1.0));
  }
  return batch_ / least * 1e6;
}

}  // namespace keepbox
