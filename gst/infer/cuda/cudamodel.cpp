// SPDX-License-Identifier: LGPL-2.1-or-later
// Submits runs of a model without waiting for them.
#include "gst/infer/cuda/cudamodel.h"

#include <utility>

#include "gst/base/error.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
Result<std::shared_ptr<CudaModel>> CudaModel::open(const SessionSpec& spec, CudaContext context) {
  std::shared_ptr<CudaModel> out(new CudaModel(spec, std::move(context)));
  Status loaded = out->load(spec.graph);
  if (!loaded && spec.graph) {
    GST_CAT_INFO(tensorinfer_debug, "no CUDA graph: %s", loaded.error().message().c_str());
    loaded = out->load(false);
  }
  if (!loaded) return std::unexpected(loaded.error());
  out->claims_ = out->session_->claims();
  return out;
}

Status CudaModel::load(bool graph) {
  unload();
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  auto stream = make_stream(context_);
  if (!stream) return std::unexpected(stream.error());
  stream_ = std::move(*stream);
  auto behind = gst_stream(context_);
  if (!behind) return std::unexpected(behind.error());
  tensors_ready_ = *behind;
  SessionSpec spec = spec_;
  spec.graph = graph;
  auto session = OnnxSession::open(spec, stream_.get());
  if (!session) return std::unexpected(session.error());
  session_ = std::move(*session);
  const ort::Api& api = session_->runtime().api();
  ort::MemoryInfo* memory = nullptr;
  KB_TRY(session_->check(api.CreateMemoryInfo("Cuda", ort::kDeviceAllocator, spec_.device,
                                              ort::kDefaultMemory, &memory),
                         "memory for"));
  memory_ = OnnxOwned<ort::MemoryInfo>(memory, api.ReleaseMemoryInfo);
  graph_ = graph;
  return {};
}

/// Destroys the session after all of its work on the device, and before its stream.
void CudaModel::unload() {
  const CudaScope scope(context_);
  drain();
  slots_.clear();
  extra_values_.clear();
  extras_.clear();
  memory_.reset();
  session_.reset();
  stream_ = {};
  g_clear_pointer(&tensors_ready_, gst_mini_object_unref);
}

CudaModel::~CudaModel() { unload(); }

void CudaModel::drain() {
  const CudaScope scope(context_);
  if (scope.status() && stream_.get() != nullptr) cuda_driver().stream_synchronize(stream_.get());
}

Status CudaModel::prepare(const ModelFacts& facts) {
  const std::lock_guard guard(turn_);
  if (prepared_) {
    if (facts.input.bytes() == input_.bytes() && facts.input.type == input_.type) return {};
    return fail(ErrorKind::kInvalid, "the same input from all elements that share a model",
                "another size or type",
                "set max-in-flight= to a different value, so that the model is not shared");
  }
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  input_ = facts.input;
  KB_TRY(make_slots(facts));
  if (graph_) {
    const Status captured = capture();
    if (!captured) {
      GST_CAT_INFO(tensorinfer_debug, "no CUDA graph: %s", captured.error().message().c_str());
      KB_TRY(load(false));
      KB_TRY(make_slots(facts));
    }
  }
  prepared_ = true;
  return {};
}

Status CudaModel::make_slots(const ModelFacts& facts) {
  slots_.clear();  // left by a failed attempt
  for (size_t i = 0; i < spec_.in_flight; ++i) {
    auto slot = make_slot(facts);
    if (!slot) return std::unexpected(slot.error());
    slots_.push_back(std::move(*slot));
  }
  return {};
}

Result<CudaModel::Slot> CudaModel::make_slot(const ModelFacts& facts) {
  const ort::Api& api = session_->runtime().api();
  const ModelPort& port = claims().inputs[facts.image_input];
  auto input = allocate(context_, facts.input.bytes());
  if (!input) return std::unexpected(input.error());
  auto value = session_->tensor(reinterpret_cast<void*>(input->get()), input->bytes(),
                                facts.input.type, bound_dims(port, facts.input), memory_.get());
  auto begun = make_event(context_, true), done = make_event(context_, true);
  if (!value) return std::unexpected(value.error());
  if (!begun || !done) return std::unexpected(!begun ? begun.error() : done.error());
  ort::IoBinding* binding = nullptr;
  KB_TRY(session_->check(api.CreateIoBinding(session_->get(), &binding), "bindings for"));
  Slot slot{.input = std::move(*input),
            .input_value = std::move(*value),
            .binding = OnnxOwned<ort::IoBinding>(binding, api.ReleaseIoBinding),
            .begun = std::move(*begun),
            .done = std::move(*done)};
  KB_TRY(session_->check(api.BindInput(binding, port.name.c_str(), slot.input_value.get()),
                         "an input for"));
  KB_TRY(bind_extras(slot, facts));
  return slot;
}

Status CudaModel::bind_extras(Slot& slot, const ModelFacts& facts) {
  const ort::Api& api = session_->runtime().api();
  for (const SizeInput& extra : facts.size_inputs) {
    const ModelPort& port = claims().inputs[extra.index];
    auto made = make_extra(port, extra.kind, facts.input.size);
    if (!made) return std::unexpected(made.error());
    auto memory = allocate(context_, made->bytes);
    if (!memory) return std::unexpected(memory.error());
    KB_TRY(cuda_status(
        cuda_driver().copy_in(memory->get(), made->values.data(), made->bytes, stream_.get()),
        "a model input on the GPU"));
    drain();
    auto value = session_->tensor(reinterpret_cast<void*>(memory->get()), made->bytes, *port.type,
                                  made->dims, memory_.get());
    if (!value) return std::unexpected(value.error());
    KB_TRY(session_->check(api.BindInput(slot.binding.get(), port.name.c_str(), value->get()),
                           "an input for"));
    extras_.push_back(std::move(*memory));
    extra_values_.push_back(std::move(*value));
  }
  return {};
}

/// Returns options without a wait for the device and without the runtime's own graphs, which are
/// made per thread and forbid allocations in all other threads during capture.
Result<OnnxRunOptions> CudaModel::run_options() const {
  const ort::Api& api = session_->runtime().api();
  auto out = session_->run_options();
  if (!out) return out;
  for (const auto& [key, value] :
       {std::pair{"disable_synchronize_execution_providers", "1"}, std::pair{"gpu_graph_id", "-1"}})
    KB_TRY(session_->check(api.AddRunConfigEntry(out->get(), key, value), "options for"));
  return out;
}

/// Binds outputs again: an output bound by a run stays bound, and the next run would write to it.
Status CudaModel::bind_outputs_anew(Slot& slot) {
  const ort::Api& api = session_->runtime().api();
  for (const ModelPort& port : claims().outputs)
    KB_TRY(session_->check(
        api.BindOutputToDevice(slot.binding.get(), port.name.c_str(), memory_.get()),
        "an output of"));
  return {};
}

Result<std::vector<OnnxOutput>> CudaModel::bound_outputs(Slot& slot) {
  const ort::Api& api = session_->runtime().api();
  ort::Value** values = nullptr;
  size_t count = 0;
  KB_TRY(session_->check(api.GetBoundOutputValues(slot.binding.get(),
                                                  session_->runtime().allocator(), &values, &count),
                         "outputs of"));
  std::vector<OnnxValue> owners;
  for (size_t i = 0; i < count; ++i) owners.emplace_back(values[i], api.ReleaseValue);
  if (values != nullptr)
    KB_TRY(
        session_->check(api.AllocatorFree(session_->runtime().allocator(), values), "outputs of"));
  std::vector<OnnxOutput> out;
  for (size_t i = 0; i < owners.size(); ++i) {
    auto output = session_->output(std::move(owners[i]), claims().outputs[i]);
    if (!output) return std::unexpected(output.error());
    out.push_back(std::move(*output));
  }
  return out;
}

Status CudaModel::run_bound(Slot& slot, const ort::RunOptions* options) {
  return session_->check(
      session_->runtime().api().RunWithBinding(session_->get(), options, slot.binding.get()),
      "a run of");
}

/// Captures a graph after a plain run, which reveals the shapes of the outputs whose memory is
/// fixed.
Status CudaModel::capture() {
  const auto options = run_options();
  if (!options) return std::unexpected(options.error());
  KB_TRY(bind_outputs_anew(slots_[0]));
  KB_TRY(run_bound(slots_[0], options->get()));
  drain();
  const auto like = bound_outputs(slots_[0]);
  if (!like) return std::unexpected(like.error());
  for (Slot& slot : slots_) KB_TRY(capture(slot, *like, options->get()));
  return {};
}

Status CudaModel::capture(Slot& slot, const std::vector<OnnxOutput>& like,
                          const ort::RunOptions* options) {
  for (size_t i = 0; i < like.size(); ++i) {
    auto output = fixed(like[i]);
    if (!output) return std::unexpected(output.error());
    KB_TRY(session_->check(
        session_->runtime().api().BindOutput(slot.binding.get(), claims().outputs[i].name.c_str(),
                                             output->value.get()),
        "an output of"));
    slot.outputs.push_back(std::move(*output));
  }
  // Allocations and tuning of the first run must not be captured.
  KB_TRY(run_bound(slot, options));
  drain();
  auto graph = keepbox::capture(context_, stream_.get(), [&] { return run_bound(slot, options); });
  if (!graph) return std::unexpected(graph.error());
  slot.graph = std::move(*graph);
  return {};
}

Result<CudaModel::Fixed> CudaModel::fixed(const OnnxOutput& like) const {
  if (like.bytes == 0)
    return fail(ErrorKind::kUnsupported, "outputs of fixed size", "an empty output");
  auto memory = allocate(context_, like.bytes);
  if (!memory) return std::unexpected(memory.error());
  const auto sizes = like.shape.dims();
  const std::vector<int64_t> dims(sizes.begin(), sizes.end());
  auto value = session_->tensor(reinterpret_cast<void*>(memory->get()), like.bytes, like.type, dims,
                                memory_.get());
  if (!value) return std::unexpected(value.error());
  return Fixed{.memory = std::move(*memory),
               .value = std::move(*value),
               .type = like.type,
               .shape = like.shape,
               .bytes = like.bytes};
}

Result<CudaModel::Turn> CudaModel::next() {
  const size_t number = next_++ % slots_.size();
  Slot& slot = slots_[number];
  float milliseconds = 0;
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  if (slot.used) {
    const CudaDriver& cuda = cuda_driver();
    KB_TRY(cuda_status(cuda.event_synchronize(slot.done.get()), "a run of the model"));
    cuda.event_elapsed(&milliseconds, slot.begun.get(), slot.done.get());
  }
  return Turn{number, slot.input.get(), milliseconds * 1e3};
}

Result<std::vector<InferredTensor>> CudaModel::run(size_t number, CUevent input_ready,
                                                   const ort::RunOptions* options) {
  const CudaDriver& cuda = cuda_driver();
  Slot& slot = slots_[number];
  const CUstream stream = stream_.get();
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  KB_TRY(cuda_status(cuda.stream_wait(stream, input_ready, 0), "ordered streams"));
  KB_TRY(cuda_status(cuda.event_record(slot.begun.get(), stream), "an event"));
  if (graph_) {
    KB_TRY(cuda_status(cuda.graph_launch(slot.graph.get(), stream), "a run of the model's graph"));
  } else {
    KB_TRY(bind_outputs_anew(slot));
    KB_TRY(run_bound(slot, options));
  }
  auto out = taken_outputs(slot);
  if (!out) return out;
  KB_TRY(cuda_status(cuda.event_record(slot.done.get(), stream), "an event"));
  slot.used = true;
  KB_TRY(cuda_status(cuda.stream_wait(gst_stream_handle(tensors_ready_), slot.done.get(), 0),
                     "ordered streams"));
  return out;
}

}  // namespace keepbox
